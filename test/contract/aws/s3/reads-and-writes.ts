import { createHash } from 'node:crypto';
import { DeleteObjectsCommand } from '@aws-sdk/client-s3';
import { describe, expect } from 'vitest';
import { failure } from '../sdk.ts';
import { type S3Part, TestBucket } from './fixture.ts';

const WRONG_SHA256 = createHash('sha256').update('something else').digest('base64');

/** Conditions, ranges, checksums, deleting many. */
export function readsAndWrites({ it, endpoint }: S3Part): void {
  const create = () => TestBucket.create(endpoint());

  describe('conditional writes', () => {
    it('create only what is not there', async () => {
      const bucket = await create();
      await bucket.put('a', 'first', { IfNoneMatch: '*' });
      const error = await failure(
        bucket.put('a', 'second', { IfNoneMatch: '*' }),
        'PreconditionFailed',
      );
      expect(error.$metadata?.httpStatusCode).toBe(412);
      expect(await bucket.text('a')).toBe('first');
    });

    it('let one of many create', async () => {
      const bucket = await create();
      const outcomes = await Promise.allSettled(
        ['a', 'b', 'c', 'd'].map((text) => bucket.put('one', text, { IfNoneMatch: '*' })),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    });

    it('replace only what was read', async () => {
      const bucket = await create();
      const { ETag } = await bucket.put('a', 'first');
      await bucket.put('a', 'second', { IfMatch: ETag });
      await failure(bucket.put('a', 'third', { IfMatch: ETag }), 'PreconditionFailed');
      expect(await bucket.text('a')).toBe('second');
    });

    it('replace nothing that is not there', async () => {
      const bucket = await create();
      const IfMatch = '"00000000000000000000000000000000"';
      await failure(bucket.put('none', 'x', { IfMatch }), 'NoSuchKey');
    });
  });

  describe('conditional reads', () => {
    it('answer what matches', async () => {
      const bucket = await create();
      const { ETag } = await bucket.put('a', 'x');
      expect(await bucket.text('a', { IfMatch: ETag })).toBe('x');
      const IfMatch = '"00000000000000000000000000000000"';
      await failure(bucket.get('a', { IfMatch }), 'PreconditionFailed');
    });

    it('say when nothing has changed', async () => {
      const bucket = await create();
      const { ETag } = await bucket.put('a', 'x');
      const call = bucket.get('a', { IfNoneMatch: ETag });
      await expect(call).rejects.toMatchObject({ $metadata: { httpStatusCode: 304 } });
    });
  });

  describe('ranges', () => {
    it('are parts of an object', async () => {
      const bucket = await create();
      await bucket.put('a', '0123456789');
      for (const [Range, text, ContentRange] of [
        ['bytes=2-4', '234', 'bytes 2-4/10'],
        ['bytes=7-', '789', 'bytes 7-9/10'],
        ['bytes=-3', '789', 'bytes 7-9/10'],
        ['bytes=8-100', '89', 'bytes 8-9/10'],
      ] as const) {
        const got = await bucket.get('a', { Range });
        expect(got).toMatchObject({ ContentRange, ContentLength: text.length });
        expect(await got.Body?.transformToString()).toBe(text);
      }
    });

    it('begin within the object', async () => {
      const bucket = await create();
      await bucket.put('a', '0123456789');
      const error = await failure(bucket.get('a', { Range: 'bytes=10-' }), 'InvalidRange');
      expect(error.$metadata?.httpStatusCode).toBe(416);
    });
  });

  describe('checksums', () => {
    it('are answered, and kept for readers', async () => {
      const bucket = await create();
      // The well-known check value of CRC-32.
      const put = await bucket.put('a', '123456789', { ChecksumAlgorithm: 'CRC32' });
      expect(put.ChecksumCRC32).toBe('y/Q5Jg==');
      const got = await bucket.get('a', { ChecksumMode: 'ENABLED' });
      expect(got.ChecksumCRC32).toBe('y/Q5Jg==');
      expect(await got.Body?.transformToString()).toBe('123456789');
    });

    it('are verified, and nothing is stored when they are wrong', async () => {
      const bucket = await create();
      const call = bucket.put('a', 'hello', { ChecksumSHA256: WRONG_SHA256 });
      await failure(call, 'BadDigest');
      await failure(bucket.get('a'), 'NoSuchKey');
    });

    it('are taken when they are right', async () => {
      const bucket = await create();
      const ChecksumSHA256 = createHash('sha256').update('hello').digest('base64');
      await bucket.put('a', 'hello', { ChecksumSHA256 });
      expect(await bucket.text('a')).toBe('hello');
    });

    it('may be an MD5', async () => {
      const bucket = await create();
      const ContentMD5 = createHash('md5').update('other').digest('base64');
      await failure(bucket.put('a', 'hello', { ContentMD5 }), 'BadDigest');
    });
  });

  describe('deleting many', () => {
    it('takes all keys, there or not', async () => {
      const bucket = await create();
      const keys = ['a', 'b/c', 'odd <&> "key"'];
      for (const key of keys) await bucket.put(key, '1');
      await bucket.put('kept', '1');
      const Objects = [...keys, 'none'].map((Key) => ({ Key }));
      const { Deleted, Errors } = await bucket.client.send(
        new DeleteObjectsCommand({ Bucket: bucket.name, Delete: { Objects } }),
      );
      expect(Deleted?.map((each) => each.Key).sort()).toEqual([...keys, 'none'].sort());
      expect(Errors ?? []).toEqual([]);
      expect(await bucket.keys()).toEqual(['kept']);
    });

    it('is quiet when told to', async () => {
      const bucket = await create();
      await bucket.put('a', '1');
      const { Deleted } = await bucket.client.send(
        new DeleteObjectsCommand({
          Bucket: bucket.name,
          Delete: { Objects: [{ Key: 'a' }], Quiet: true },
        }),
      );
      expect(Deleted ?? []).toEqual([]);
      expect(await bucket.keys()).toEqual([]);
    });
  });
}
