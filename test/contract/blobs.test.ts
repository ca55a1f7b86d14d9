import { createHash } from 'node:crypto';
import { PutObjectCommand } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { blobName } from '#shared/blobs/index.ts';
import { openEmbeddedBlobs } from '#test/support/embedded-blobs.ts';

const RUN = { tenantId: 'acme', runId: 'run_01ARZ3NDEKTSV4RRFFQ69G5FAV' };
const named = (text: string) => ({
  content: Buffer.from(text),
  key: { ...RUN, sha256: createHash('sha256').update(text).digest('hex') },
});

describe('blob store on S3', () => {
  let store: Awaited<ReturnType<typeof openEmbeddedBlobs>>;
  beforeAll(async () => {
    store = await openEmbeddedBlobs();
  });
  afterAll(() => store.close());

  async function textOf(key: ReturnType<typeof named>['key']): Promise<string | undefined> {
    const found = await store.blobs.read(key);
    if (!found) return undefined;
    const parts: Uint8Array[] = [];
    for await (const part of found.content) parts.push(part);
    const bytes = Buffer.concat(parts);
    expect(bytes.length).toBe(found.bytes);
    return bytes.toString('utf8');
  }

  it('gives back what was put', async () => {
    const { key, content } = named('{"text":"ü"}');
    await store.blobs.put(key, content);
    expect(await textOf(key)).toBe('{"text":"ü"}');
  });

  it('answers undefined for what is not there', async () => {
    expect(await store.blobs.read(named('never put').key)).toBeUndefined();
  });

  it('takes a repeat for done, however many come at once', async () => {
    const { key, content } = named('"again"');
    await Promise.all([1, 2, 3].map(() => store.blobs.put(key, content)));
    await store.blobs.put(key, content);
    expect(await textOf(key)).toBe('"again"');
  });

  it('never replaces what has the name already', async () => {
    const { key, content } = named('"mine"');
    await store.client.send(
      new PutObjectCommand({ Bucket: store.bucket, Key: blobName(key), Body: '"first"' }),
    );
    await store.blobs.put(key, content);
    expect(await textOf(key)).toBe('"first"');
  });

  it('does not keep content under another name than its own', async () => {
    const { key } = named('"said"');
    await expect(store.blobs.put(key, Buffer.from('"sent"'))).rejects.toThrow();
    expect(await store.blobs.read(key)).toBeUndefined();
  });

  it('keeps the runs of tenants apart', async () => {
    const { key, content } = named('"secret"');
    await store.blobs.put(key, content);
    expect(await store.blobs.read({ ...key, tenantId: 'other' })).toBeUndefined();
    expect(
      await store.blobs.read({ ...key, runId: 'run_01ARZ3NDEKTSV4RRFFQ69G5FAW' }),
    ).toBeUndefined();
  });
});
