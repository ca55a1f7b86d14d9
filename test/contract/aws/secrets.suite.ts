import { randomUUID } from 'node:crypto';
import {
  CreateSecretCommand,
  type CreateSecretCommandInput,
  DeleteSecretCommand,
  DescribeSecretCommand,
  GetSecretValueCommand,
  type GetSecretValueCommandInput,
  ListSecretsCommand,
  type ListSecretsCommandInput,
  PutSecretValueCommand,
  type PutSecretValueCommandInput,
  RestoreSecretCommand,
  SecretsManagerClient,
  UpdateSecretCommand,
} from '@aws-sdk/client-secrets-manager';
import { describe, expect } from 'vitest';
import { type ContractIt, type ContractOptions, describeContract } from './divergences.ts';
import { failure, sdkOptions, uniqueName } from './sdk.ts';

type Extra<T> = Omit<Partial<T>, 'SecretId'>;

interface SecretsPart {
  readonly it: ContractIt;
  /** A secret of one test, which does not exist yet. */
  readonly secret: () => TestSecret;
}

const MAX_BYTES = 65_536;

/** A secret, and what tests do with it. */
class TestSecret {
  readonly name = uniqueName('tenant/key');
  readonly client: SecretsManagerClient;

  constructor(endpoint: string) {
    this.client = new SecretsManagerClient(sdkOptions(endpoint));
  }

  create(extra: Partial<CreateSecretCommandInput> = { SecretString: 's1' }) {
    return this.client.send(new CreateSecretCommand({ Name: this.name, ...extra }));
  }

  put(SecretString: string, extra: Extra<PutSecretValueCommandInput> = {}) {
    return this.client.send(
      new PutSecretValueCommand({ SecretId: this.name, SecretString, ...extra }),
    );
  }

  get(extra: Extra<GetSecretValueCommandInput> = {}, SecretId = this.name) {
    return this.client.send(new GetSecretValueCommand({ SecretId, ...extra }));
  }

  async value(extra: Extra<GetSecretValueCommandInput> = {}): Promise<string | undefined> {
    return (await this.get(extra)).SecretString;
  }

  describe() {
    return this.client.send(new DescribeSecretCommand({ SecretId: this.name }));
  }

  list(extra: Partial<ListSecretsCommandInput> = {}) {
    const Filters = [{ Key: 'name' as const, Values: [this.name] }];
    return this.client.send(new ListSecretsCommand({ Filters, ...extra }));
  }

  delete(extra: { RecoveryWindowInDays?: number; ForceDeleteWithoutRecovery?: boolean } = {}) {
    return this.client.send(new DeleteSecretCommand({ SecretId: this.name, ...extra }));
  }

  restore() {
    return this.client.send(new RestoreSecretCommand({ SecretId: this.name }));
  }
}

/** What Secrets Manager does, as calls of the AWS SDK against `endpoint`. */
export function describeSecrets(
  options: ContractOptions & { readonly endpoint: () => string },
): void {
  describeContract(options, (it) => {
    const part = { it, secret: () => new TestSecret(options.endpoint()) };
    values(part);
    versions(part);
    descriptions(part);
    deletion(part);
  });
}

function values({ it, secret }: SecretsPart): void {
  describe('values', () => {
    it('are read by name, by ARN and by ARN without its suffix', async () => {
      const key = secret();
      const { ARN = '', VersionId } = await key.create();
      expect(ARN).toMatch(/^arn:aws:secretsmanager:us-east-1:\d{12}:secret:tenant\/key-.*-\w{6}$/);
      for (const id of [key.name, ARN, ARN.slice(0, -7)]) {
        expect(await key.get({}, id)).toMatchObject({
          ARN,
          Name: key.name,
          SecretString: 's1',
          VersionId,
          VersionStages: ['AWSCURRENT'],
        });
      }
    });

    it('may be bytes', async () => {
      const key = secret();
      await key.create({ SecretBinary: new Uint8Array([0, 255, 1]) });
      const { SecretBinary, SecretString } = await key.get();
      expect(Buffer.from(SecretBinary ?? [])).toEqual(Buffer.from([0, 255, 1]));
      expect(SecretString).toBeUndefined();
    });

    it('are missing until one is put', async () => {
      const key = secret();
      await key.create({});
      await failure(key.get(), 'ResourceNotFoundException');
      await key.put('first');
      expect(await key.value()).toBe('first');
    });

    it('take up to 65,536 bytes', async () => {
      const key = secret();
      const largest = 'é'.repeat(MAX_BYTES / 2);
      await key.create({ SecretString: largest });
      expect(await key.value()).toBe(largest);
    });

    it('take no more than 65,536 bytes', async () => {
      const key = secret();
      const tooLarge = 'x'.repeat(MAX_BYTES + 1);
      await expect(key.create({ SecretString: tooLarge })).rejects.toThrow();
      await failure(key.get(), 'ResourceNotFoundException');
    });

    it('are either text or bytes', async () => {
      const call = secret().create({ SecretString: 'a', SecretBinary: new Uint8Array([1]) });
      await failure(call, 'InvalidParameterException');
    });

    it('are missing when there is no such secret', async () => {
      const key = secret();
      await failure(key.get(), 'ResourceNotFoundException');
      await failure(key.put('x'), 'ResourceNotFoundException');
      await failure(key.describe(), 'ResourceNotFoundException');
    });

    it('belong to a name that is taken once', async () => {
      const key = secret();
      await key.create();
      await failure(key.create({ SecretString: 'other' }), 'ResourceExistsException');
      expect(await key.value()).toBe('s1');
    });
  });
}

function versions({ it, secret }: SecretsPart): void {
  describe('versions', () => {
    it('keep the value before as AWSPREVIOUS', async () => {
      const key = secret();
      await key.create();
      await key.put('s2');
      await key.put('s3');
      expect(await key.value()).toBe('s3');
      expect(await key.value({ VersionStage: 'AWSCURRENT' })).toBe('s3');
      expect(await key.value({ VersionStage: 'AWSPREVIOUS' })).toBe('s2');
    });

    it('are read by id', async () => {
      const key = secret();
      const { VersionId } = await key.create();
      await key.put('s2');
      expect(await key.value({ VersionId })).toBe('s1');
      await failure(key.get({ VersionId: randomUUID() }), 'ResourceNotFoundException');
    });

    it('have to have the stage that is asked for with their id', async () => {
      const key = secret();
      const { VersionId } = await key.create();
      await key.put('s2');
      const call = key.get({ VersionId, VersionStage: 'AWSCURRENT' });
      await failure(call, 'InvalidRequestException');
      expect(await key.value({ VersionId, VersionStage: 'AWSPREVIOUS' })).toBe('s1');
    });

    it('are made once for a token', async () => {
      const key = secret();
      await key.create();
      const ClientRequestToken = randomUUID();
      const first = await key.put('s2', { ClientRequestToken });
      const second = await key.put('s2', { ClientRequestToken });
      expect(first.VersionId).toBe(ClientRequestToken);
      expect(second.VersionId).toBe(ClientRequestToken);
      expect(await key.value({ VersionStage: 'AWSPREVIOUS' })).toBe('s1');
    });

    it('are refused for a token that was used for another value', async () => {
      const key = secret();
      await key.create();
      const ClientRequestToken = randomUUID();
      await key.put('s2', { ClientRequestToken });
      await failure(key.put('other', { ClientRequestToken }), 'ResourceExistsException');
      expect(await key.value()).toBe('s2');
    });

    it('are created once for a token', async () => {
      const key = secret();
      const ClientRequestToken = randomUUID();
      const first = await key.create({ SecretString: 's1', ClientRequestToken });
      const second = await key.create({ SecretString: 's1', ClientRequestToken });
      expect(second.ARN).toBe(first.ARN);
      expect(second.VersionId).toBe(ClientRequestToken);
    });

    it('wait under a stage of their own', async () => {
      const key = secret();
      await key.create();
      await key.put('next', { VersionStages: ['AWSPENDING'] });
      expect(await key.value()).toBe('s1');
      expect(await key.value({ VersionStage: 'AWSPENDING' })).toBe('next');
    });

    it('are made by an update too', async () => {
      const key = secret();
      await key.create();
      const { VersionId } = await key.client.send(
        new UpdateSecretCommand({ SecretId: key.name, SecretString: 's2', Description: 'new' }),
      );
      expect((await key.get()).VersionId).toBe(VersionId);
      expect(await key.value()).toBe('s2');
      expect(await key.value({ VersionStage: 'AWSPREVIOUS' })).toBe('s1');
      expect((await key.describe()).Description).toBe('new');
    });

    it('are not made by an update of the description alone', async () => {
      const key = secret();
      const { VersionId } = await key.create();
      await key.client.send(
        new UpdateSecretCommand({ SecretId: key.name, Description: 'changed' }),
      );
      expect(await key.get()).toMatchObject({ VersionId, SecretString: 's1' });
    });

    it('need a value', async () => {
      const key = secret();
      await key.create();
      const call = key.client.send(new PutSecretValueCommand({ SecretId: key.name }));
      await failure(call, 'InvalidRequestException');
    });
  });
}

function descriptions({ it, secret }: SecretsPart): void {
  describe('descriptions', () => {
    it('tell everything but the value', async () => {
      const key = secret();
      const { VersionId = '' } = await key.create({
        SecretString: 's1',
        Description: 'model key',
        Tags: [{ Key: 'tenant', Value: 't1' }],
      });
      const { VersionId: second = '' } = await key.put('s2');
      const described = await key.describe();
      expect(described).toMatchObject({
        Name: key.name,
        Description: 'model key',
        Tags: [{ Key: 'tenant', Value: 't1' }],
        VersionIdsToStages: { [VersionId]: ['AWSPREVIOUS'], [second]: ['AWSCURRENT'] },
      });
      expect(described.CreatedDate).toBeInstanceOf(Date);
      expect(JSON.stringify(described)).not.toContain('s2');
    });

    it('are listed by name, tag and description', async () => {
      const key = secret();
      const value = uniqueName('tag');
      await key.create({
        SecretString: 's1',
        Description: value,
        Tags: [{ Key: 'tenant', Value: value }],
      });
      for (const Key of ['name', 'tag-value', 'description'] as const) {
        const Values = [Key === 'name' ? key.name : value];
        const { SecretList } = await key.list({ Filters: [{ Key, Values }] });
        expect(SecretList?.map((each) => each.Name)).toEqual([key.name]);
      }
    });

    it('are listed in pages', async () => {
      const prefix = uniqueName('paged');
      const { client } = secret();
      for (const letter of ['a', 'b', 'c']) {
        await client.send(new CreateSecretCommand({ Name: `${prefix}/${letter}` }));
      }
      const page = (NextToken?: string) =>
        client.send(
          new ListSecretsCommand({
            Filters: [{ Key: 'name', Values: [prefix] }],
            MaxResults: 2,
            NextToken,
          }),
        );
      const first = await page();
      const second = await page(first.NextToken);
      expect(first.SecretList).toHaveLength(2);
      expect(second.NextToken).toBeUndefined();
      const names = [...(first.SecretList ?? []), ...(second.SecretList ?? [])];
      expect(names.map((each) => each.Name?.at(-1)).sort()).toEqual(['a', 'b', 'c']);
    });
  });
}

function deletion({ it, secret }: SecretsPart): void {
  describe('deletion', () => {
    it('hides the value and can be taken back', async () => {
      const key = secret();
      await key.create();
      const { DeletionDate } = await key.delete({ RecoveryWindowInDays: 7 });
      expect(DeletionDate?.getTime()).toBeGreaterThan(Date.now());
      await failure(key.get(), 'InvalidRequestException');
      expect((await key.describe()).DeletedDate).toBeInstanceOf(Date);
      await key.restore();
      expect(await key.value()).toBe('s1');
      expect((await key.describe()).DeletedDate).toBeUndefined();
    });

    it('takes no new value', async () => {
      const key = secret();
      await key.create();
      await key.delete();
      await failure(key.put('s2'), 'InvalidRequestException');
    });

    it('keeps the name until it is done', async () => {
      const key = secret();
      await key.create();
      await key.delete();
      await failure(key.create(), 'InvalidRequestException');
    });

    it('leaves the secret out of lists unless they ask for it', async () => {
      const key = secret();
      await key.create();
      await key.delete();
      expect((await key.list()).SecretList).toEqual([]);
      expect((await key.list({ IncludePlannedDeletion: true })).SecretList).toHaveLength(1);
    });

    it('happens at once when forced, and frees the name', async () => {
      const key = secret();
      const first = await key.create();
      await key.delete({ ForceDeleteWithoutRecovery: true });
      await failure(key.get(), 'ResourceNotFoundException');
      const second = await key.create({ SecretString: 'again' });
      expect(await key.value()).toBe('again');
      expect(second.ARN).not.toBe(first.ARN);
    });

    it('succeeds when forced on a secret that does not exist', async () => {
      const key = secret();
      const { Name } = await key.delete({ ForceDeleteWithoutRecovery: true });
      expect(Name).toBe(key.name);
    });

    it('has a window of 7 to 30 days, or none', async () => {
      const key = secret();
      await key.create();
      for (const RecoveryWindowInDays of [6, 31]) {
        await failure(key.delete({ RecoveryWindowInDays }), 'InvalidParameterException');
      }
      const both = { RecoveryWindowInDays: 7, ForceDeleteWithoutRecovery: true };
      await failure(key.delete(both), 'InvalidParameterException');
      expect(await key.value()).toBe('s1');
    });
  });
}
