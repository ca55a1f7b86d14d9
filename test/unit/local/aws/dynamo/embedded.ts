import { type DynamoOptions, type DynamoService, openDynamo } from '#local/aws/dynamo/service.ts';
import { type AwsEndpoint, startAwsEndpoint } from '#local/aws/kit/aws-endpoint.ts';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { TestTable } from '#test/contract/aws/dynamo/fixture.ts';

/** An emulator in this process, behind its endpoint, with a clock that stands still until it is moved. */
export interface Embedded {
  readonly dynamo: DynamoService;
  readonly url: string;
  readonly clock: { now: number };
  /** A table as the contract suite uses it. */
  table(): Promise<TestTable>;
  close(): Promise<void>;
}

export const NOON = Date.UTC(2026, 10, 30, 12);

export async function startEmbedded(
  options: Partial<DynamoOptions> & {
    readonly path?: string;
    readonly clock?: { now: number };
  } = {},
): Promise<Embedded> {
  const { path, clock = { now: NOON }, ...rest } = options;
  const state = rest.state ?? openStateDatabase(path);
  const dynamo = await openDynamo({ ttlSweepMs: 0, now: () => clock.now, ...rest, state });
  const endpoint: AwsEndpoint = await startAwsEndpoint({ services: [dynamo] });
  return {
    dynamo,
    url: endpoint.url,
    clock,
    table: () => new TestTable(endpoint.url).create(),
    async close() {
      await endpoint.close();
      state.close();
    },
  };
}
