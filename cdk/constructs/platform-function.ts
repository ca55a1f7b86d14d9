import { join } from 'node:path';
import { Duration } from 'aws-cdk-lib';
import { PolicyStatement, Role, ServicePrincipal } from 'aws-cdk-lib/aws-iam';
import { Architecture, RecursiveLoop, Runtime, Tracing } from 'aws-cdk-lib/aws-lambda';
import { type BundlingOptions, NodejsFunction, OutputFormat } from 'aws-cdk-lib/aws-lambda-nodejs';
import { LogGroup } from 'aws-cdk-lib/aws-logs';
import { Construct } from 'constructs';
import { environmentOf, type FunctionEntry, type Use } from '#shared/topology/index.ts';
import type { Allowance, Offers } from '../offers.ts';
import {
  logGroupName,
  type PlatformContext,
  physicalName,
  removalPolicyOf,
} from '../platform-context.ts';

/** How esbuild, from our own packages, makes one file of a function. */
export const BUNDLING = {
  format: OutputFormat.ESM,
  target: 'node24',
  minify: true,
  keepNames: true,
  mainFields: ['module', 'main'],
  // Bundled and tree-shaken it starts faster than the runtime's copy, and it is the version that was tested.
  bundleAwsSDK: true,
  // Packages in CommonJS call `require`, which a bundle in ESM does not have.
  banner:
    "import{createRequire as _createRequire}from'node:module';const require=_createRequire(import.meta.url);",
} as const satisfies BundlingOptions;

/**
 * One function of the catalogue, from `functions/<name>/index.ts`: its own role, the variables and the grants that
 * its uses stand for, and nothing else.
 */
export class PlatformFunction extends Construct {
  readonly entry: FunctionEntry;
  readonly lambda: NodejsFunction;
  readonly #role: Role;

  constructor(
    scope: Construct,
    props: {
      readonly entry: FunctionEntry;
      readonly context: PlatformContext;
      readonly offers: Partial<Offers<Use>>;
    },
  ) {
    const { entry, context } = props;
    super(scope, entry.name.replaceAll('/', '-'));
    this.entry = entry;
    const logGroup = new LogGroup(this, 'Logs', {
      logGroupName: logGroupName(context.config, entry.name),
      retention: context.config.logRetention,
      removalPolicy: removalPolicyOf(context.config),
    });
    // Ours instead of the managed basic role, which may write to every log group of the account.
    this.#role = new Role(this, 'Role', {
      assumedBy: new ServicePrincipal('lambda.amazonaws.com'),
    });
    logGroup.grantWrite(this.#role);
    const offered = entry.uses.map((use) => offerOf(props.offers, use, entry));
    for (const { allow } of offered) for (const allowance of allow) this.allow(allowance);

    this.lambda = new NodejsFunction(this, 'Function', {
      functionName: physicalName(context.config, entry.name),
      entry: join(context.sourceRoot, 'functions', entry.name, 'index.ts'),
      handler: 'handler',
      runtime: Runtime.NODEJS_24_X,
      architecture: Architecture.ARM_64,
      timeout: Duration.millis(entry.timeoutMs),
      memorySize: entry.memoryMb,
      role: this.#role,
      logGroup,
      tracing: Tracing.ACTIVE,
      environment: environmentFrom(offered, entry),
      // It would add a variable that today's SDK ignores.
      awsSdkConnectionReuse: false,
      ...(sendsWhatItReceives(entry) ? { recursiveLoop: RecursiveLoop.ALLOW } : {}),
      projectRoot: context.sourceRoot,
      depsLockFilePath: join(context.sourceRoot, 'package-lock.json'),
      bundling: BUNDLING,
    });
  }

  allow({ actions, resources, conditions }: Allowance): void {
    this.#role.addToPolicy(
      new PolicyStatement({
        actions: [...actions],
        resources: [...resources],
        ...(conditions ? { conditions } : {}),
      }),
    );
  }
}

interface AnyOffer {
  readonly environment: Readonly<Record<string, string>>;
  readonly allow: readonly Allowance[];
}

function offerOf(offers: Partial<Offers<Use>>, use: Use, entry: FunctionEntry): AnyOffer {
  const offer: AnyOffer | undefined = offers[use];
  if (offer) return offer;
  throw new Error(`${entry.name} uses "${use}", which its stack does not offer`);
}

function environmentFrom(offered: readonly AnyOffer[], entry: FunctionEntry) {
  const values: Record<string, string> = Object.assign({}, ...offered.map((o) => o.environment));
  return Object.fromEntries(
    environmentOf(entry).map((name) => {
      const value = values[name];
      if (value === undefined) throw new Error(`${entry.name}: nothing offers ${name}`);
      return [name, value];
    }),
  );
}

/**
 * A run that waits for a free slot is sent to the queue again, with a delay. Lambda takes a message that came back
 * about 16 times for a loop and drops it, unless told that this is meant.
 */
function sendsWhatItReceives(entry: FunctionEntry): boolean {
  return entry.trigger.kind === 'queue' && entry.uses.includes('sendRuns');
}
