import { RetentionDays } from 'aws-cdk-lib/aws-logs';

/** An engine program that the image of this environment contains, as `GET /v1/engines` shows it. */
export interface DeployedEngine {
  readonly engineId: string;
  readonly version: string;
}

/**
 * Who issues the access tokens of users. `cognito` makes a user pool; `oidc` trusts an issuer that exists, whose
 * tokens carry the tenant in the claim `tenant_id`.
 */
export type Identity =
  | { readonly kind: 'cognito' }
  | {
      readonly kind: 'oidc';
      readonly issuer: string;
      readonly audience: string;
      readonly jwksUrl: string;
    };

/**
 * Where the image of the engine task comes from. `build`: from the Dockerfile below `containers/`, with the engines
 * that are pinned there. `registry`: an image in ECR of the same region (engine tasks reach no other registry), by
 * digest, and what is in it.
 */
export type EngineImage =
  | { readonly kind: 'build'; readonly dockerfile?: string }
  | {
      readonly kind: 'registry';
      readonly uri: string;
      readonly engines: readonly DeployedEngine[];
    };

export interface StageConfig {
  readonly name: string;
  readonly region: string;
  /** Data and log groups outlive the stacks, the table refuses deletion, stacks refuse termination. */
  readonly protectData: boolean;
  /** `customer_key`: one KMS key of our own for table, bucket and secrets. `aws_managed`: keys that AWS holds. */
  readonly encryption: 'aws_managed' | 'customer_key';
  readonly logRetention: RetentionDays;
  readonly identity: Identity;
  readonly network: {
    readonly cidr: string;
    /** Each costs four interface endpoints. */
    readonly availabilityZones: 1 | 2;
    /** AWS-managed prefix list of S3 in the region; only needed where `S3_PREFIX_LISTS` does not know it. */
    readonly s3PrefixListId?: string;
  };
  readonly image: EngineImage;
  readonly task: {
    readonly cpuArchitecture: 'ARM64' | 'X86_64';
    /** 1024 is one vCPU. Fargate accepts certain pairs of cpu and memory only. */
    readonly cpu: number;
    readonly memoryMiB: number;
    /** 21 to 200; the image counts against it. */
    readonly ephemeralStorageGiB: number;
  };
  readonly publicApi: { readonly requestsPerSecond: number; readonly burst: number };
  /** Runs at once, of each tenant and of all together; the others wait. Left out: 100 and no limit. */
  readonly runLimits?: {
    readonly perTenant?: number;
    /** Of tenants that have their own. */
    readonly tenants?: Readonly<Record<string, number>>;
    readonly global?: number;
  };
  readonly containerInsights: boolean;
  /** Gets every alarm, after confirming the subscription. */
  readonly alarmEmail?: string;
}

/**
 * Prefix lists have fixed ids in each region, but can be looked up only with credentials, and synthesis needs none.
 * Others: `aws ec2 describe-managed-prefix-lists --filters Name=prefix-list-name,Values=com.amazonaws.REGION.s3`
 */
const S3_PREFIX_LISTS: Readonly<Record<string, string>> = {
  'us-east-1': 'pl-63a5400a',
  'us-east-2': 'pl-7ba54012',
  'us-west-2': 'pl-68a54001',
  'eu-west-1': 'pl-6da54004',
  'eu-central-1': 'pl-6ea54007',
};

/** @throws Error naming the setting to add */
export function s3PrefixListOf(config: StageConfig): string {
  const id = config.network.s3PrefixListId ?? S3_PREFIX_LISTS[config.region];
  if (id) return id;
  throw new Error(
    `${config.name}: set network.s3PrefixListId; the prefix list of S3 in ${config.region} is not known here`,
  );
}

const shared = {
  region: 'eu-west-1',
  identity: { kind: 'cognito' },
  image: { kind: 'build' },
} as const satisfies Partial<StageConfig>;

/** One entry is one complete environment; several may share an account. */
export const STAGES: readonly StageConfig[] = [
  {
    ...shared,
    name: 'dev',
    protectData: false,
    encryption: 'aws_managed',
    logRetention: RetentionDays.ONE_WEEK,
    network: { cidr: '10.40.0.0/16', availabilityZones: 1 },
    task: { cpuArchitecture: 'ARM64', cpu: 1024, memoryMiB: 2048, ephemeralStorageGiB: 21 },
    publicApi: { requestsPerSecond: 50, burst: 100 },
    containerInsights: false,
  },
  {
    ...shared,
    name: 'staging',
    protectData: false,
    encryption: 'customer_key',
    logRetention: RetentionDays.ONE_MONTH,
    network: { cidr: '10.41.0.0/16', availabilityZones: 2 },
    task: { cpuArchitecture: 'ARM64', cpu: 2048, memoryMiB: 4096, ephemeralStorageGiB: 40 },
    publicApi: { requestsPerSecond: 200, burst: 400 },
    containerInsights: true,
  },
  {
    ...shared,
    name: 'prod',
    protectData: true,
    encryption: 'customer_key',
    logRetention: RetentionDays.THREE_MONTHS,
    network: { cidr: '10.42.0.0/16', availabilityZones: 2 },
    task: { cpuArchitecture: 'ARM64', cpu: 2048, memoryMiB: 4096, ephemeralStorageGiB: 40 },
    publicApi: { requestsPerSecond: 500, burst: 1000 },
    containerInsights: true,
  },
];
