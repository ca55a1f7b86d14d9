import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

/** The SDK warns on every import under a Node it will leave one day; the project brings its own Node. */
const env = { AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: 'true' };

/** What runs a contract suite on moto: slow, and about the suites rather than about our code. */
const ON_MOTO = ['test/contract/**/*.moto.test.ts', 'test/contract/**/reference/*.test.ts'];

interface Kind {
  /** Without: every test of the folder of that name. */
  readonly include?: readonly string[];
  readonly exclude?: readonly string[];
  readonly testTimeoutMs: number;
  readonly oneFileAtATime?: boolean;
  /** Files share a worker: nothing they import may keep state that another would see. */
  readonly sharedWorkers?: boolean;
}

/** One project per folder of test/, but for the contract suites on moto: `npx vitest run --project unit` runs one kind. */
const KINDS: Readonly<Record<string, Kind>> = {
  unit: { testTimeoutMs: 15_000 },
  contract: { testTimeoutMs: 60_000, exclude: ON_MOTO },
  reference: { testTimeoutMs: 60_000, include: ON_MOTO },
  rules: { testTimeoutMs: 60_000 },
  // Loading the construct library takes longer than any of the tests.
  cdk: { testTimeoutMs: 120_000, sharedWorkers: true },
  integration: { testTimeoutMs: 60_000 },
  // Each file starts a whole local stack; two at once fight for the machine and time out.
  e2e: { testTimeoutMs: 120_000, oneFileAtATime: true },
};

export default defineConfig({
  test: {
    // Most tests wait for a child process or a socket: by default one worker fewer than there are cores would run.
    maxWorkers: Math.max(2, Math.ceil(availableParallelism() * 1.5)),
    projects: Object.entries(KINDS).map(([name, kind]) => ({
      test: {
        name,
        root: import.meta.dirname,
        include: [...(kind.include ?? [`test/${name}/**/*.test.ts`])],
        exclude: [...(kind.exclude ?? [])],
        environment: 'node',
        pool: 'forks' as const,
        env,
        isolate: kind.sharedWorkers !== true,
        fileParallelism: kind.oneFileAtATime !== true,
        testTimeout: kind.testTimeoutMs,
        hookTimeout: Math.max(60_000, kind.testTimeoutMs),
        // A test that asserts nothing cannot fail; test/rules/assertions.test.ts holds this to it.
        // Waiting ends with the condition; the limit only has to be out of reach of a busy machine.
        expect: { requireAssertions: true, poll: { timeout: 10_000 } },
        restoreMocks: true,
        unstubEnvs: true,
        unstubGlobals: true,
      },
    })),
  },
});
