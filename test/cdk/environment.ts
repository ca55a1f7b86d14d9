import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { App, type Stack } from 'aws-cdk-lib';
import { Template } from 'aws-cdk-lib/assertions';
import { PlatformStage } from '#cdk/platform-stage.ts';
import type { StageConfig } from '#cdk/stage-config.ts';
import { type JsonObject, type JsonValue, resolveTemplate } from './resolve-template.ts';

const PROJECT = resolve(import.meta.dirname, '../..');
/** Leaves first: exports are known before they are imported. */
export const STACK_NAMES = ['state', 'network', 'execution', 'control', 'alarms'] as const;
export type StackName = (typeof STACK_NAMES)[number];

export interface Resource {
  /** As other resources name it after resolution: `execution/Cluster`. */
  readonly name: string;
  readonly type: string;
  readonly stack: StackName;
  readonly properties: JsonObject;
  readonly dependsOn: readonly string[];
  /** What happens to it when its stack goes. */
  readonly deletionPolicy: JsonValue | undefined;
}

/** One environment as CloudFormation would get it, in readable form. */
export interface Environment {
  readonly config: StageConfig;
  readonly stage: PlatformStage;
  readonly resources: readonly Resource[];
  readonly outputs: Readonly<Record<StackName, JsonObject>>;
  /** Resources of a type, in all stacks. */
  all(type: string): Resource[];
  /** The one resource of a type. */
  only(type: string): Resource;
}

/** An app with the settings of cdk.json. Functions are not bundled: only their entry points need to exist. */
export function createApp(options: { readonly validate?: boolean } = {}): App {
  const { context } = JSON.parse(readFileSync(join(PROJECT, 'cdk.json'), 'utf8')) as {
    context: Record<string, unknown>;
  };
  return new App({
    postCliContext: { ...context, 'aws:cdk:bundling-stacks': [] },
    // Takes seconds each time; the synthesis of all environments has it on.
    builtinCloudFormationValidation: options.validate ?? false,
  });
}

export function synthesize(config: StageConfig, sourceRoot: string): Environment {
  const stage = new PlatformStage(createApp(), { config, sourceRoot });
  const templates = STACK_NAMES.map((name) => [name, templateOf(stage[name])] as const);
  const exports = new Map<string, string>();
  const resources: Resource[] = [];
  const outputs: Partial<Record<StackName, JsonObject>> = {};
  for (const [stack, template] of templates) {
    const { Resources = {}, Outputs = {} } = template;
    const scope = { stack, region: config.region, exports };
    const resolved = resolveTemplate({ Resources, Outputs }, scope);
    outputs[stack] = (resolved.Outputs ?? {}) as JsonObject;
    for (const output of Object.values(outputs[stack]) as JsonObject[]) {
      const name = (output.Export as JsonObject | undefined)?.Name;
      if (typeof name === 'string') exports.set(name, String(output.Value));
    }
    for (const [id, found] of Object.entries((resolved.Resources ?? {}) as JsonObject)) {
      const resource = found as JsonObject;
      resources.push({
        name: `${stack}/${id}`,
        type: String(resource.Type),
        stack,
        properties: (resource.Properties ?? {}) as JsonObject,
        dependsOn: [resource.DependsOn ?? []].flat().map((other) => `${stack}/${String(other)}`),
        deletionPolicy: resource.DeletionPolicy,
      });
    }
  }
  const all = (type: string) => resources.filter((resource) => resource.type === type);
  return {
    config,
    stage,
    resources,
    outputs: outputs as Record<StackName, JsonObject>,
    all,
    only: (type) => {
      const [found, ...others] = all(type);
      if (!found || others.length > 0) throw new Error(`${others.length + 1} × ${type}`);
      return found;
    },
  };
}

/** The template before resolution. */
export function templateOf(stack: Stack): JsonObject {
  return Template.fromStack(stack).toJSON() as JsonObject;
}
