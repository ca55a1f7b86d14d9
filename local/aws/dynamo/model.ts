/** A DynamoDB value as on the wire: one property names its type; numbers are strings, binary is base64. */
export interface AttributeValue {
  S?: string;
  N?: string;
  B?: string;
  BOOL?: boolean;
  NULL?: boolean;
  SS?: string[];
  NS?: string[];
  BS?: string[];
  L?: AttributeValue[];
  M?: Item;
}

export type Item = Record<string, AttributeValue>;

export interface KeySchemaElement {
  readonly AttributeName: string;
  readonly KeyType: 'HASH' | 'RANGE';
}

export interface IndexDescription {
  readonly IndexName: string;
  readonly KeySchema: readonly KeySchemaElement[];
  readonly Projection: {
    readonly ProjectionType: 'ALL' | 'KEYS_ONLY' | 'INCLUDE';
    readonly NonKeyAttributes?: readonly string[];
  };
  readonly [more: string]: unknown;
}

/** A table as DescribeTable answers it, without what changes by itself (counts, stream, protection). */
export interface Table {
  readonly TableName: string;
  readonly TableArn: string;
  readonly TableStatus: string;
  readonly KeySchema: readonly KeySchemaElement[];
  readonly AttributeDefinitions: readonly {
    readonly AttributeName: string;
    readonly AttributeType: 'S' | 'N' | 'B';
  }[];
  readonly GlobalSecondaryIndexes?: readonly IndexDescription[];
  readonly LocalSecondaryIndexes?: readonly IndexDescription[];
  readonly [more: string]: unknown;
}

export type StreamView = 'KEYS_ONLY' | 'NEW_IMAGE' | 'OLD_IMAGE' | 'NEW_AND_OLD_IMAGES';

/** What one write does to one item. Both images absent: nothing was there and nothing is. */
export interface Change {
  readonly table: Table;
  /** The item's place in its table, as dynalite encodes it. */
  readonly key: string;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
}

/** Who made a change, when it was not a client: the Time to Live process. */
export interface UserIdentity {
  readonly Type: 'Service';
  readonly PrincipalId: 'dynamodb.amazonaws.com';
}

export type IndexKind = 'Global' | 'Local';

interface TableIndex {
  readonly kind: IndexKind;
  readonly index: IndexDescription;
}

export function indexesOf(table: Table): readonly TableIndex[] {
  const global = table.GlobalSecondaryIndexes ?? [];
  const local = table.LocalSecondaryIndexes ?? [];
  return [
    ...global.map((index) => ({ kind: 'Global' as const, index })),
    ...local.map((index) => ({ kind: 'Local' as const, index })),
  ];
}

/** The attributes of `item` that make its primary key. */
export function primaryKeyOf(table: Table, item: Item): Item {
  const key: Item = {};
  for (const { AttributeName } of table.KeySchema) {
    const value = item[AttributeName];
    if (value) key[AttributeName] = value;
  }
  return key;
}
