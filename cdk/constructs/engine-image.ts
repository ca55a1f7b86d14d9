import { IgnoreMode } from 'aws-cdk-lib';
import { Repository } from 'aws-cdk-lib/aws-ecr';
import { DockerImageAsset, Platform } from 'aws-cdk-lib/aws-ecr-assets';
import type { Construct } from 'constructs';
import { dockerfileOf } from '../installed-engines.ts';
import type { PlatformContext } from '../platform-context.ts';

/** The image of the engine task, and the repository it is pulled from. */
export interface PulledImage {
  readonly uri: string;
  readonly repositoryArn: string;
}

/** What the image is built from. Everything else neither reaches the build nor changes the image's hash. */
const BUILD_CONTEXT = [
  '*',
  '!containers',
  '!shared',
  '!package.json',
  '!package-lock.json',
  '!tsconfig.json',
  '**/node_modules',
];

const ECR_DIGEST = /^\d{12}\.dkr\.ecr\.([a-z0-9-]+)\.[a-z.]+\/([a-z0-9._/-]+)@sha256:[0-9a-f]{64}$/;

/** @throws Error when a registry image is not pinned, or where engine tasks cannot pull it */
export function engineImage(scope: Construct, id: string, context: PlatformContext): PulledImage {
  const { image, region, task } = context.config;
  if (image.kind === 'build') {
    const asset = new DockerImageAsset(scope, id, {
      directory: context.sourceRoot,
      file: dockerfileOf(image.dockerfile, context.sourceRoot),
      exclude: BUILD_CONTEXT,
      ignoreMode: IgnoreMode.DOCKER,
      platform: task.cpuArchitecture === 'ARM64' ? Platform.LINUX_ARM64 : Platform.LINUX_AMD64,
    });
    return { uri: asset.imageUri, repositoryArn: asset.repository.repositoryArn };
  }
  const [, registryRegion, name] = ECR_DIGEST.exec(image.uri) ?? [];
  if (!name || registryRegion !== region) {
    throw new Error(
      `image.uri must be <account>.dkr.ecr.${region}.<domain>/<repository>@sha256:<digest>, not ${image.uri}`,
    );
  }
  const [account] = image.uri.split('.');
  const repository = Repository.fromRepositoryArn(
    scope,
    id,
    `arn:aws:ecr:${region}:${account}:repository/${name}`,
  );
  return { uri: image.uri, repositoryArn: repository.repositoryArn };
}
