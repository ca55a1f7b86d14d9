import { rm } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PlatformStage } from '#cdk/platform-stage.ts';
import { STAGES } from '#cdk/stage-config.ts';
import { createApp } from './environment.ts';
import { createSourceSkeleton } from './source-skeleton.ts';

describe('synthesis of all environments', () => {
  let root: string;
  beforeAll(async () => {
    root = await createSourceSkeleton();
  });
  afterAll(() => rm(root, { recursive: true, force: true }));

  it('OPS-1 passes validation and asks nothing of AWS', () => {
    const app = createApp({ validate: true });
    for (const config of STAGES) new PlatformStage(app, { config, sourceRoot: root });
    // Throws when validation finds an error.
    const assembly = app.synth();
    expect(assembly.nestedAssemblies.map(({ displayName }) => displayName)).toHaveLength(
      STAGES.length,
    );
    for (const { nestedAssembly } of assembly.nestedAssemblies) {
      expect(nestedAssembly.manifest.missing).toBeUndefined();
      expect(nestedAssembly.stacks).toHaveLength(5);
      for (const stack of nestedAssembly.stacks) {
        expect(stack.environment.account).toBe('unknown-account');
        expect(stack.messages.map(({ entry }) => entry.data)).toEqual([]);
      }
    }
  });

  it('refers one way: nothing that holds data depends on what uses it', () => {
    const stage = new PlatformStage(createApp(), { config: STAGES[0]!, sourceRoot: root });
    stage.synth();
    const { state, network, execution, control, alarms } = stage;
    const dependencies = [state, network, execution, control, alarms].map((stack) => [
      stack.node.id,
      stack.dependencies.map(({ node }) => node.id).toSorted(),
    ]);
    expect(Object.fromEntries(dependencies)).toEqual({
      State: [],
      Network: [],
      Execution: ['Network', 'State'],
      Control: ['Execution', 'State'],
      Alarms: [],
    });
  });
});
