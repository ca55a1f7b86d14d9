import { RemovalPolicy, type StackProps } from 'aws-cdk-lib';
import type { StageConfig } from './stage-config.ts';

/** What every part of one environment is made from. */
export interface PlatformContext {
  readonly config: StageConfig;
  /** Root of the sources: `functions/`, `containers/` and the lock file. */
  readonly sourceRoot: string;
}

export interface PlatformStackProps extends StackProps {
  readonly context: PlatformContext;
}

/**
 * Names that operators type and alarms watch. Nothing that holds data has one, so that CloudFormation can replace
 * it beside the old one.
 */
export function physicalName(config: StageConfig, name: string): string {
  return `nexusdesk-${config.name}-${name.replaceAll('/', '-')}`;
}

/** Log group of a function, an API or the tasks. */
export function logGroupName(config: StageConfig, name: string): string {
  return `/nexusdesk/${config.name}/${name}`;
}

/** Secrets of tenants are named `<prefix><tenant>/<credential>`. */
export function tenantSecretsPrefix(config: StageConfig): string {
  return `nexusdesk/${config.name}/tenants/`;
}

export function removalPolicyOf(config: StageConfig): RemovalPolicy {
  return config.protectData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY;
}
