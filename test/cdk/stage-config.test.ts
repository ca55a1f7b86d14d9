import { rm } from 'node:fs/promises';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { deployedEngines, dockerfileOf } from '#cdk/installed-engines.ts';
import { type EngineImage, STAGES, type StageConfig, s3PrefixListOf } from '#cdk/stage-config.ts';
import { synthesize } from './environment.ts';
import { createSourceSkeleton, SKELETON_ENGINE, writeBelow } from './source-skeleton.ts';

const dev = STAGES[0] as StageConfig;
const DIGEST = 'a'.repeat(64);
const PINNED = `111122223333.dkr.ecr.eu-west-1.amazonaws.com/team/engines@sha256:${DIGEST}`;

describe('stages', () => {
  it('OPS-1 are dev, staging and prod, and none shares a network with another', () => {
    expect(STAGES.map(({ name }) => name)).toEqual(['dev', 'staging', 'prod']);
    expect(new Set(STAGES.map(({ network }) => network.cidr)).size).toBe(STAGES.length);
    expect(STAGES.filter(({ protectData }) => protectData).map(({ name }) => name)).toEqual([
      'prod',
    ]);
  });

  it('know the prefix list of S3 in their region, or are told it, or say what to set', () => {
    const elsewhere = { ...dev, region: 'eu-north-1' };
    expect(s3PrefixListOf(dev)).toBe('pl-6da54004');
    const told = { ...elsewhere, network: { ...dev.network, s3PrefixListId: 'pl-c3aa4faa' } };
    expect(s3PrefixListOf(told)).toBe('pl-c3aa4faa');
    expect(() => s3PrefixListOf(elsewhere)).toThrow(/network\.s3PrefixListId.*eu-north-1/);
  });
});

describe('the engine image', () => {
  let root: string;
  beforeEach(async () => {
    root = await createSourceSkeleton();
  });
  afterEach(() => rm(root, { recursive: true, force: true }));

  const withImage = (image: EngineImage): StageConfig => ({ ...dev, image });
  const deployedImage = (config: StageConfig) => {
    const { ContainerDefinitions } = synthesize(config, root).only(
      'AWS::ECS::TaskDefinition',
    ).properties;
    return (ContainerDefinitions as readonly { Image: string }[])[0]?.Image;
  };

  it('REG-2 contains the engines that are pinned below containers/, whatever they are called', async () => {
    expect(deployedEngines(dev, root)).toEqual([SKELETON_ENGINE]);
    await writeBelow(root, 'containers/zeta/package.json', '{"dependencies":{"zeta":"2.0.0"}}');
    expect(deployedEngines(dev, root)).toEqual([
      SKELETON_ENGINE,
      { engineId: 'zeta', version: '2.0.0' },
    ]);
  });

  it.each(['^2.0.0', 'latest'])(
    'is not built from a version that is not exact: %s',
    async (version) => {
      await writeBelow(
        root,
        'containers/zeta/package.json',
        JSON.stringify({ dependencies: { zeta: version } }),
      );
      expect(() => deployedEngines(dev, root)).toThrow(/exact version/);
    },
  );

  it('is built from the only Dockerfile, and asks when there are several', async () => {
    expect(dockerfileOf(undefined, root)).toBe('containers/acme/Dockerfile');
    await writeBelow(root, 'containers/zeta/Dockerfile', 'FROM scratch\n');
    expect(() => dockerfileOf(undefined, root)).toThrow(/acme.*zeta/);
    expect(dockerfileOf('containers/zeta/Dockerfile', root)).toBe('containers/zeta/Dockerfile');
  });

  it('changes with the sources that go into it, and with nothing else', async () => {
    const before = deployedImage(dev);
    await writeBelow(root, 'docs/operations.md', 'changed');
    await writeBelow(root, 'functions/api/get-run/index.ts', 'export const handler = 1;');
    await writeBelow(root, 'containers/acme/node_modules/installed/index.js', 'changed');
    expect(deployedImage(dev)).toBe(before);
    await writeBelow(root, 'shared/runtime/host.ts', 'export {};');
    expect(deployedImage(dev)).not.toBe(before);
  });

  it('can be one that was built before, by digest, with the engines it is said to contain', () => {
    const engines = [{ engineId: 'zeta', version: '2.0.0' }];
    const config = withImage({ kind: 'registry', uri: PINNED, engines });
    expect(deployedImage(config)).toBe(PINNED);
    expect(deployedEngines(config, root)).toEqual(engines);
  });

  it.each([
    ['a tag', '111122223333.dkr.ecr.eu-west-1.amazonaws.com/team/engines:latest'],
    [
      'another region',
      `111122223333.dkr.ecr.us-east-1.amazonaws.com/team/engines@sha256:${DIGEST}`,
    ],
    ['a registry that tasks cannot reach', `ghcr.io/team/engines@sha256:${DIGEST}`],
  ])('is refused with %s', (_, uri) => {
    expect(() => deployedImage(withImage({ kind: 'registry', uri, engines: [] }))).toThrow(
      /image\.uri/,
    );
  });
});
