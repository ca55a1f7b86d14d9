import {
  AttributeType,
  Billing,
  ProjectionType,
  type StreamViewType,
  TableEncryptionV2,
  TableV2,
} from 'aws-cdk-lib/aws-dynamodb';
import type { IKey } from 'aws-cdk-lib/aws-kms';
import { Construct } from 'constructs';
import { TABLE_SHAPE } from '#shared/topology/index.ts';
import { type PlatformContext, removalPolicyOf } from '../platform-context.ts';

const RECOVERY_DAYS = 35;

const text = (name: string) => ({ name, type: AttributeType.STRING });

/** The one table, in the shape that the local stack makes too. */
export class RunTable extends Construct {
  readonly table: TableV2;
  readonly streamArn: string;

  constructor(
    scope: Construct,
    id: string,
    props: { readonly context: PlatformContext; readonly key: IKey | undefined },
  ) {
    super(scope, id);
    const { config } = props.context;
    this.table = new TableV2(this, 'Table', {
      partitionKey: text(TABLE_SHAPE.partitionKey),
      sortKey: text(TABLE_SHAPE.sortKey),
      globalSecondaryIndexes: Object.values(TABLE_SHAPE.indexes).map((index) => ({
        indexName: index.name,
        partitionKey: text(index.partitionKey),
        sortKey: text(index.sortKey),
        ...(index.include.length > 0
          ? { projectionType: ProjectionType.INCLUDE, nonKeyAttributes: [...index.include] }
          : { projectionType: ProjectionType.KEYS_ONLY }),
      })),
      timeToLiveAttribute: TABLE_SHAPE.timeToLive,
      dynamoStream: TABLE_SHAPE.stream as StreamViewType,
      billing: Billing.onDemand(),
      pointInTimeRecoverySpecification: {
        pointInTimeRecoveryEnabled: true,
        recoveryPeriodInDays: RECOVERY_DAYS,
      },
      encryption: props.key
        ? TableEncryptionV2.customerManagedKey(props.key)
        : TableEncryptionV2.dynamoOwnedKey(),
      deletionProtection: config.protectData,
      removalPolicy: removalPolicyOf(config),
    });
    const { tableStreamArn } = this.table;
    if (!tableStreamArn) throw new Error('the table has no stream');
    this.streamArn = tableStreamArn;
  }
}
