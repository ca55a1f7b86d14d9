import {
  CreateBucketCommand,
  DeleteObjectCommand,
  GetObjectCommand,
  type GetObjectCommandInput,
  HeadObjectCommand,
  ListObjectsV2Command,
  type ListObjectsV2CommandInput,
  PutObjectCommand,
  type PutObjectCommandInput,
  S3Client,
} from '@aws-sdk/client-s3';
import type { ContractIt } from '../divergences.ts';
import { sdkOptions, uniqueName } from '../sdk.ts';

/** What every part of the suite is given. */
export interface S3Part {
  readonly it: ContractIt;
  readonly endpoint: () => string;
}

type Extra<T> = Partial<Omit<T, 'Bucket' | 'Key'>>;

/** A bucket of one test, and what tests do with it. */
export class TestBucket {
  readonly client: S3Client;
  readonly name = uniqueName('bucket');

  constructor(endpoint: string) {
    this.client = new S3Client({ ...sdkOptions(endpoint), forcePathStyle: true });
  }

  static async create(endpoint: string): Promise<TestBucket> {
    const bucket = new TestBucket(endpoint);
    await bucket.client.send(new CreateBucketCommand({ Bucket: bucket.name }));
    return bucket;
  }

  put(Key: string, Body: PutObjectCommandInput['Body'], extra: Extra<PutObjectCommandInput> = {}) {
    return this.client.send(new PutObjectCommand({ Bucket: this.name, Key, Body, ...extra }));
  }

  get(Key: string, extra: Extra<GetObjectCommandInput> = {}) {
    return this.client.send(new GetObjectCommand({ Bucket: this.name, Key, ...extra }));
  }

  async text(Key: string, extra: Extra<GetObjectCommandInput> = {}): Promise<string | undefined> {
    return (await this.get(Key, extra)).Body?.transformToString();
  }

  head(Key: string) {
    return this.client.send(new HeadObjectCommand({ Bucket: this.name, Key }));
  }

  delete(Key: string) {
    return this.client.send(new DeleteObjectCommand({ Bucket: this.name, Key }));
  }

  list(extra: Extra<ListObjectsV2CommandInput> = {}) {
    return this.client.send(new ListObjectsV2Command({ Bucket: this.name, ...extra }));
  }

  async keys(extra: Extra<ListObjectsV2CommandInput> = {}): Promise<(string | undefined)[]> {
    return ((await this.list(extra)).Contents ?? []).map((object) => object.Key);
  }
}
