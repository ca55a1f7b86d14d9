import type { SourceFiles } from './skeleton.ts';

/**
 * A small tree that follows every rule and uses every allowance of the rule file: what a root, a
 * store, the local stack or a function may do is proved by its silence.
 */
export const CLEAN_TREE: SourceFiles = {
  'shared/kit/clock.ts': 'export const now = () => 0;',
  'shared/contracts/run.ts': `import { z } from 'zod';\nexport const run = z.object({});`,
  'shared/contracts/index.ts': `export { run } from './run.ts';`,
  'shared/table/keys.ts': `import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
    export type Table = DynamoDBClient;`,
  'shared/observability/logger.ts': `import { pino } from 'pino';\nexport const logger = pino;`,
  'shared/topology/index.ts': `import { run } from '#shared/contracts/index.ts';
    export const FUNCTIONS = { run };`,
  'shared/runs/run-lifecycle.ts': 'export const isTerminal = () => true;',
  'shared/runs/dynamo-run-item.ts': `import type { Table } from '#shared/table/keys.ts';
    export type RunItem = Table;`,
  'shared/runs/dynamo-run-store.ts': `import type { DynamoDBClient } from '@aws-sdk/client-dynamodb';
    import type { RunItem } from './dynamo-run-item.ts';
    export type Store = [DynamoDBClient, RunItem];`,
  'shared/runs/index.ts': `export { isTerminal } from './run-lifecycle.ts';`,
  'shared/sessions/dynamo-session-store.ts': `import type { RunItem } from '#shared/runs/dynamo-run-item.ts';
    export type Item = RunItem;`,
  'shared/sessions/index.ts': `export { now } from '#shared/kit/clock.ts';`,
  'shared/policy/index.ts': `export { run } from '#shared/contracts/run.ts';`,
  'shared/process/index.ts': `export { spawn } from 'node:child_process';`,
  'shared/kernel/loop.ts': 'export const loop = 1;',
  'shared/kernel/packs/shell.ts': `export { spawn } from '#shared/process/index.ts';`,
  'shared/kernel/index.ts': `export { loop } from './loop.ts';`,
  'shared/engines/catalogue.ts': `export { descriptor } from './acme/descriptor.ts';`,
  'shared/engines/adapters.ts': `export { adapter } from './acme/adapter.ts';`,
  'shared/engines/index.ts': `export { descriptor } from './catalogue.ts';`,
  'shared/engines/acme/descriptor.ts': 'export const descriptor = 1;',
  'shared/engines/acme/adapter.ts': `export { loop as adapter } from '#shared/kernel/index.ts';`,
  'shared/engines/other/descriptor.ts': 'export const other = 1;',
  'shared/orchestrator/submit-run.ts': `import { isTerminal } from '#shared/runs/index.ts';
    import { descriptor } from '#shared/engines/catalogue.ts';
    export const submitRun = [isTerminal, descriptor];`,
  'shared/orchestrator/index.ts': `export { submitRun } from './submit-run.ts';`,
  'shared/runtime/index.ts': `export { spawn } from '#shared/process/index.ts';`,
  'functions/kit/http-function.ts': `import middy from '@middy/core';\nexport const http = middy;`,
  'functions/kit/dynamo-ledger.ts': `import type { Store } from '#shared/runs/dynamo-run-store.ts';
    export type Ledger = Store;`,
  'functions/api/create-run/handler.ts': `import { submitRun } from '#shared/orchestrator/index.ts';
    export const createRun = submitRun;`,
  'functions/api/create-run/index.ts': `import { SQSClient } from '@aws-sdk/client-sqs';
    import type { Context } from 'aws-lambda';
    import { http } from '#functions/kit/http-function.ts';
    import type { Ledger as Store } from '#functions/kit/dynamo-ledger.ts';
    import { createRun } from './handler.ts';
    export const handler = (context: Context, store: Store) => [http, createRun, SQSClient, context, store];`,
  'functions/workers/dispatch-run/batch/record.ts': `export { http as dispatch } from '#functions/kit/http-function.ts';`,
  'functions/workers/dispatch-run/handler.ts': `export { dispatch } from './batch/record.ts';`,
  'functions/workers/dispatch-run/index.ts': `export { dispatch } from './handler.ts';`,
  'containers/runtime-host/composition.ts': `import { adapter } from '#shared/engines/adapters.ts';
    export const compose = adapter;`,
  'containers/runtime-host/main.ts': `import { compose } from './composition.ts';\nexport const main = compose;`,
  'containers/acme/engine.mjs': `export { spawn } from 'node:child_process';`,
  'client/client.ts': `import { run } from '#shared/contracts/index.ts';\nexport const client = run;`,
  'cdk/app.ts': `import { App } from 'aws-cdk-lib';
    import { FUNCTIONS } from '#shared/topology/index.ts';
    export const app = [App, FUNCTIONS];`,
  'local/stack/demo.ts': `export { client } from '#client/client.ts';`,
  'local/main.ts': `import { spawn } from 'node:child_process';
    import { main } from '#containers/runtime-host/main.ts';
    import { handler } from '#functions/api/create-run/index.ts';
    import type { Store } from '#shared/runs/dynamo-run-store.ts';
    export const start = (store: Store) => [spawn, handler, main, store];`,
  'test/support/clock.ts': 'export const fakeClock = 1;',
  'test/unit/shared/runs/run-lifecycle.test.ts': `import { it } from 'vitest';
    import { isTerminal } from '#shared/runs/run-lifecycle.ts';
    import { fakeClock } from '#test/support/clock.ts';
    it('is', () => [isTerminal, fakeClock]);`,
};

/** The rules that must answer, no more and no fewer → the files added to the clean tree. */
export interface Canary {
  readonly rules: readonly string[];
  readonly files: SourceFiles;
}

const canary = (rules: string | readonly string[], files: SourceFiles): Canary => ({
  rules: [rules].flat(),
  files,
});

export const CANARIES: readonly Canary[] = [
  canary('no-cycles', {
    'shared/runs/egg.ts': `import { hen } from './hen.ts';\nexport const egg = () => hen;`,
    'shared/runs/hen.ts': `import { egg } from './egg.ts';\nexport const hen = () => egg;`,
  }),
  canary('no-unresolved', {
    'shared/runs/typo.ts': `export { nothing } from '#shared/runs/not-there.ts';`,
  }),

  canary('shared-is-the-bottom', {
    'shared/orchestrator/c-bottom.ts': `export { createRun } from '#functions/api/create-run/handler.ts';`,
  }),
  canary('deployables-do-not-meet', {
    'client/c-meets.ts': `export { main } from '../containers/runtime-host/main.ts';`,
  }),
  canary('local-starts-entry-points', {
    'local/c-inside.ts': `export { createRun } from '#functions/api/create-run/handler.ts';`,
  }),
  canary('only-the-demo-is-a-client', {
    'local/c-client.ts': `export { client } from '#client/client.ts';`,
  }),
  canary('functions-do-not-meet', {
    'functions/workers/dispatch-run/c-peer.ts': `export { createRun } from '#functions/api/create-run/handler.ts';`,
  }),
  canary('function-kit-is-below', {
    'functions/kit/c-up.ts': `export { createRun } from '#functions/api/create-run/handler.ts';`,
  }),
  canary('product-never-imports-tests', {
    'shared/runs/c-test.ts': `export { fakeClock } from '#test/support/clock.ts';`,
  }),
  canary('client-sees-contracts', {
    'client/c-platform.ts': `export { isTerminal } from '#shared/runs/index.ts';`,
  }),
  canary('cdk-sees-topology', {
    'cdk/c-platform.ts': `export { isTerminal } from '#shared/runs/index.ts';`,
  }),

  canary('shared-folders-have-a-tier', {
    'shared/misc/thing.ts': 'export const thing = 1;',
    'shared/orchestrator/c-tierless.ts': `export { thing } from '#shared/misc/index.ts';`,
    'shared/misc/index.ts': `export { thing } from './thing.ts';`,
  }),
  canary('imports-point-down-0', {
    'shared/kit/c-up.ts': `export { run } from '#shared/contracts/index.ts';`,
  }),
  canary(['imports-point-down-1', 'contracts-need-only-zod'], {
    'shared/contracts/c-up.ts': `import type { isTerminal } from '#shared/runs/index.ts';
      export type Terminal = typeof isTerminal;`,
  }),
  canary('imports-point-down-2', {
    'shared/observability/c-up.ts': `export { isTerminal } from '#shared/runs/index.ts';`,
  }),
  canary('imports-point-down-3', {
    'shared/runs/c-up.ts': `export { submitRun } from '#shared/orchestrator/index.ts';`,
  }),
  canary('imports-point-down-4', {
    'shared/kernel/c-up.ts': `export { descriptor } from '#shared/engines/index.ts';`,
  }),
  canary('imports-point-down-5', {
    'shared/engines/acme/c-up.ts': `export { spawn } from '#shared/runtime/index.ts';`,
  }),
  canary('subsystems-do-not-meet', {
    'shared/sessions/c-peer.ts': `import type { isTerminal } from '#shared/runs/index.ts';
      export type Peer = typeof isTerminal;`,
  }),
  canary('top-tier-does-not-meet', {
    'shared/orchestrator/c-runtime.ts': `export { spawn } from '#shared/runtime/index.ts';`,
  }),
  canary('contracts-need-only-zod', {
    'shared/contracts/c-package.ts': `export { ulid } from 'ulid';`,
  }),
  canary('topology-is-plain-data', {
    'shared/topology/c-package.ts': `export { ulid } from 'ulid';`,
  }),
  canary('decisions-are-pure', {
    'shared/policy/c-impure.ts': `export { readFile } from 'node:fs/promises';`,
  }),
  canary('kernel-knows-no-product', {
    'shared/kernel/c-pack.ts': `export { spawn } from './packs/shell.ts';`,
  }),
  canary('engines-do-not-meet', {
    'shared/engines/acme/c-peer.ts': `export { other } from '../other/descriptor.ts';`,
  }),

  canary('front-door-only', {
    'shared/orchestrator/c-window.ts': `export { isTerminal } from '#shared/runs/run-lifecycle.ts';`,
  }),
  canary('front-door-only-for-technology-files', {
    'shared/sessions/dynamo-c-window.ts': `export { isTerminal } from '#shared/runs/run-lifecycle.ts';`,
  }),
  canary('front-door-only-for-deployables', {
    'containers/runtime-host/c-window.ts': `export { isTerminal } from '#shared/runs/run-lifecycle.ts';`,
  }),
  canary('front-door-only-for-roots', {
    'local/c-window.ts': `export { isTerminal } from '#shared/runs/run-lifecycle.ts';`,
  }),
  canary('technology-files-only-from-roots', {
    'shared/runs/c-adapter.ts': `import type { Store } from './dynamo-run-store.ts';\nexport type S = Store;`,
  }),
  canary('technology-files-only-from-roots', {
    'functions/api/create-run/c-adapter.ts': `import type { Ledger } from '#functions/kit/dynamo-ledger.ts';
      export type L = Ledger;`,
  }),
  canary('table-only-from-technology-files', {
    'shared/runs/c-storage.ts': `import type { Table } from '#shared/table/keys.ts';\nexport type T = Table;`,
  }),

  canary('aws-sdk-only-in-technology-files', {
    'shared/orchestrator/c-cloud.ts': `export { SQSClient } from '@aws-sdk/client-sqs';`,
  }),
  canary('one-place-spawns', {
    'shared/engines/acme/c-spawn.ts': `export { spawn } from 'node:child_process';`,
  }),
  canary('no-dev-dependencies-in-product', {
    'shared/runs/c-dev.ts': `export { describe } from 'vitest';`,
  }),
  canary('lambdas-never-run-engines', {
    'functions/workers/dispatch-run/c-far.ts': `export { far } from '#shared/engines/far.ts/index.ts';`,
    'shared/engines/far.ts/index.ts': `export { adapter as far } from '../adapters.ts';`,
  }),
];
