import {
  CreateTableCommand,
  type CreateTableCommandInput,
  DeleteTableCommand,
  DescribeContinuousBackupsCommand,
  DescribeTableCommand,
  GetItemCommand,
  ListTablesCommand,
  ListTagsOfResourceCommand,
  TagResourceCommand,
  UntagResourceCommand,
  UpdateContinuousBackupsCommand,
  UpdateTableCommand,
} from '@aws-sdk/client-dynamodb';
import { afterAll, beforeAll, describe, expect } from 'vitest';
import { type DynamoPart, failure, keySchema, TestTable, wire } from './fixture.ts';

const INVALID = 'ValidationException';

/** Tables and their settings. */
export function tables({ it, target }: DynamoPart): void {
  describe('tables', () => {
    let table: TestTable;
    beforeAll(async () => {
      table = await new TestTable(target()).create();
    });
    afterAll(() => table.drop());

    const describeTable = async () => {
      const answer = await table.dynamo.send(new DescribeTableCommand({ TableName: table.name }));
      return answer.Table;
    };

    it('describes keys, indexes, billing and stream', async () => {
      const described = await describeTable();
      expect(described).toMatchObject({
        TableName: table.name,
        TableStatus: 'ACTIVE',
        KeySchema: keySchema('pk', 'sk'),
        BillingModeSummary: { BillingMode: 'PAY_PER_REQUEST' },
        StreamSpecification: { StreamEnabled: true, StreamViewType: 'NEW_AND_OLD_IMAGES' },
        LatestStreamArn: table.streamArn,
      });
      const indexes = described?.GlobalSecondaryIndexes ?? [];
      const byName = new Map(indexes.map((index) => [index.IndexName, index]));
      expect([...byName.keys()].sort()).toEqual(['byDue', 'byOwner']);
      expect(byName.get('byDue')).toMatchObject({
        IndexStatus: 'ACTIVE',
        KeySchema: keySchema('due', 'dueAt'),
        Projection: { ProjectionType: 'INCLUDE', NonKeyAttributes: ['state'] },
      });
      expect(described?.TableArn).toMatch(
        new RegExp(`^arn:aws:dynamodb:us-east-1:\\d{12}:table/${table.name}$`),
      );
    });

    it('lists tables', async () => {
      const { TableNames } = await table.dynamo.send(new ListTablesCommand({}));
      expect(TableNames).toContain(table.name);
    });

    it('refuses to create a table twice, and to read one that is not there', async () => {
      const again = new CreateTableCommand({
        TableName: table.name,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: keySchema('pk'),
        AttributeDefinitions: [{ AttributeName: 'pk', AttributeType: 'S' }],
      });
      await failure(table.dynamo.send(again), 'ResourceInUseException');
      const read = new GetItemCommand({ TableName: 'no-such-table', Key: wire({ pk: 'x' }) });
      await failure(table.dynamo.send(read), 'ResourceNotFoundException');
      const unknown = new DescribeTableCommand({ TableName: 'no-such-table' });
      await failure(table.dynamo.send(unknown), 'ResourceNotFoundException');
    });

    it('refuses an index whose name is too short', async () => {
      const input: CreateTableCommandInput = {
        TableName: `${table.name}-short`,
        BillingMode: 'PAY_PER_REQUEST',
        KeySchema: keySchema('pk'),
        AttributeDefinitions: [
          { AttributeName: 'pk', AttributeType: 'S' },
          { AttributeName: 'g', AttributeType: 'S' },
        ],
        GlobalSecondaryIndexes: [
          {
            IndexName: 'g1',
            KeySchema: keySchema('g'),
            Projection: { ProjectionType: 'ALL' },
          },
        ],
      };
      await failure(table.dynamo.send(new CreateTableCommand(input)), INVALID);
    });

    it('does not delete a protected table until its protection is lifted', async () => {
      const protect = (DeletionProtectionEnabled: boolean) =>
        table.dynamo.send(
          new UpdateTableCommand({ TableName: table.name, DeletionProtectionEnabled }),
        );
      await protect(true);
      expect(await describeTable()).toMatchObject({ DeletionProtectionEnabled: true });
      const remove = () => table.dynamo.send(new DeleteTableCommand({ TableName: table.name }));
      await failure(remove(), INVALID);
      await protect(false);
      expect(await describeTable()).toMatchObject({
        DeletionProtectionEnabled: false,
        TableStatus: 'ACTIVE',
      });
    });

    it('forgets the items of a deleted table', async () => {
      const short = await new TestTable(target()).create();
      await short.put({ pk: 'a', sk: 'a', owner: 'o', at: 'a' });
      await short.dynamo.send(new DeleteTableCommand({ TableName: short.name }));
      await failure(short.get('a', 'a'), 'ResourceNotFoundException');
      await short.create();
      expect(await short.get('a', 'a')).toBeUndefined();
      const index = await short.query('#o = :o', {
        IndexName: 'byOwner',
        ExpressionAttributeNames: { '#o': 'owner' },
        values: { ':o': 'o' },
      });
      expect(index.rows).toEqual([]);
      await short.drop();
    });

    it('tags and untags', async () => {
      const ResourceArn = (await describeTable())?.TableArn ?? '';
      const tags = async () => {
        const answer = await table.dynamo.send(new ListTagsOfResourceCommand({ ResourceArn }));
        return answer.Tags;
      };
      const Tags = [
        { Key: 'owner', Value: 'platform' },
        { Key: 'stage', Value: 'test' },
      ];
      await table.dynamo.send(new TagResourceCommand({ ResourceArn, Tags }));
      expect(await tags()).toEqual(expect.arrayContaining(Tags));
      await table.dynamo.send(new UntagResourceCommand({ ResourceArn, TagKeys: ['stage'] }));
      expect(await tags()).toEqual([Tags[0]]);
    });

    it('answers about continuous backups', async () => {
      const { ContinuousBackupsDescription } = await table.dynamo.send(
        new DescribeContinuousBackupsCommand({ TableName: table.name }),
      );
      expect(ContinuousBackupsDescription).toMatchObject({
        ContinuousBackupsStatus: 'ENABLED',
        PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'DISABLED' },
      });
      const updated = await table.dynamo.send(
        new UpdateContinuousBackupsCommand({
          TableName: table.name,
          PointInTimeRecoverySpecification: { PointInTimeRecoveryEnabled: true },
        }),
      );
      expect(updated.ContinuousBackupsDescription).toMatchObject({
        PointInTimeRecoveryDescription: { PointInTimeRecoveryStatus: 'ENABLED' },
      });
    });

    it('turns a stream off and on again as another stream', async () => {
      const stream = (StreamEnabled: boolean) =>
        table.dynamo.send(
          new UpdateTableCommand({
            TableName: table.name,
            StreamSpecification: {
              StreamEnabled,
              ...(StreamEnabled && { StreamViewType: 'NEW_IMAGE' }),
            },
          }),
        );
      await stream(false);
      expect((await describeTable())?.StreamSpecification?.StreamEnabled ?? false).toBe(false);
      await stream(true);
      const described = await describeTable();
      expect(described?.StreamSpecification).toEqual({
        StreamEnabled: true,
        StreamViewType: 'NEW_IMAGE',
      });
      expect(described?.LatestStreamArn).not.toBe(table.streamArn);
    });
  });
}
