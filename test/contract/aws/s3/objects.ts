import { createHash } from 'node:crypto';
import { Readable } from 'node:stream';
import {
  CreateBucketCommand,
  DeleteBucketCommand,
  HeadBucketCommand,
  ListBucketsCommand,
} from '@aws-sdk/client-s3';
import { describe, expect } from 'vitest';
import { failure } from '../sdk.ts';
import { type S3Part, TestBucket } from './fixture.ts';

const MIB = 1024 * 1024;

/** Buckets, and objects as a whole. */
export function objects({ it, endpoint }: S3Part): void {
  const create = () => TestBucket.create(endpoint());
  const md5 = (data: string | Buffer) => createHash('md5').update(data).digest('hex');

  describe('buckets', () => {
    it('are listed, and deleted when they are empty', async () => {
      const bucket = await create();
      const { client, name: Bucket } = bucket;
      const names = async () =>
        (await client.send(new ListBucketsCommand({}))).Buckets?.map((each) => each.Name);
      expect(await names()).toContain(Bucket);
      await bucket.put('a', '1');
      const remove = () => client.send(new DeleteBucketCommand({ Bucket }));
      await failure(remove(), 'BucketNotEmpty');
      await bucket.delete('a');
      await remove();
      expect(await names()).not.toContain(Bucket);
      await failure(client.send(new HeadBucketCommand({ Bucket })), 'NotFound');
    });

    it('are created again without harm', async () => {
      const bucket = await create();
      await bucket.put('a', '1');
      await bucket.client.send(new CreateBucketCommand({ Bucket: bucket.name }));
      expect(await bucket.text('a')).toBe('1');
    });

    it('have to exist', async () => {
      const missing = new TestBucket(endpoint());
      await failure(missing.put('a', '1'), 'NoSuchBucket');
      await failure(missing.get('a'), 'NoSuchBucket');
      await failure(missing.list(), 'NoSuchBucket');
      await failure(missing.delete('a'), 'NoSuchBucket');
    });

    it('have names that are host names', async () => {
      const { client } = await create();
      for (const Bucket of ['Upper', 'ab', 'under_score']) {
        await failure(client.send(new CreateBucketCommand({ Bucket })), 'InvalidBucketName');
      }
    });
  });

  describe('objects', () => {
    it('come back with their headers and metadata', async () => {
      const bucket = await create();
      const put = await bucket.put('a/b.txt', 'hello', {
        ContentType: 'text/plain',
        CacheControl: 'no-store',
        ContentDisposition: 'attachment',
        ContentEncoding: 'identity',
        ContentLanguage: 'de',
        Metadata: { run: 'r1', owner: 't1' },
      });
      expect(put.ETag).toBe(`"${md5('hello')}"`);
      const expected = {
        ContentType: 'text/plain',
        ContentLength: 5,
        CacheControl: 'no-store',
        ContentDisposition: 'attachment',
        ContentEncoding: 'identity',
        ContentLanguage: 'de',
        ETag: put.ETag,
        Metadata: { run: 'r1', owner: 't1' },
        LastModified: expect.any(Date),
      };
      const got = await bucket.get('a/b.txt');
      expect(got).toMatchObject(expected);
      expect(await got.Body?.transformToString()).toBe('hello');
      expect(await bucket.head('a/b.txt')).toMatchObject(expected);
    });

    it('are replaced as a whole', async () => {
      const bucket = await create();
      await bucket.put('a', 'first', { Metadata: { old: '1' } });
      await bucket.put('a', 'second');
      const got = await bucket.get('a');
      expect(await got.Body?.transformToString()).toBe('second');
      expect(got.Metadata).toEqual({});
    });

    it('may be empty', async () => {
      const bucket = await create();
      await bucket.put('empty', new Uint8Array());
      const got = await bucket.get('empty');
      expect(got.ContentLength).toBe(0);
      expect(await got.Body?.transformToString()).toBe('');
    });

    it('are missing until they are put', async () => {
      const bucket = await create();
      await failure(bucket.get('none'), 'NoSuchKey');
      await failure(bucket.head('none'), 'NotFound');
    });

    it('are deleted, however often', async () => {
      const bucket = await create();
      await bucket.put('a', '1');
      await bucket.delete('a');
      await bucket.delete('a');
      await failure(bucket.get('a'), 'NoSuchKey');
    });

    it('come back byte for byte when they are large', async () => {
      const bucket = await create();
      const data = Buffer.alloc(6 * MIB, Buffer.from(Array.from({ length: 251 }, (_, i) => i)));
      const { ETag } = await bucket.put('large', data);
      expect(ETag).toBe(`"${md5(data)}"`);
      const got = await (await bucket.get('large')).Body?.transformToByteArray();
      expect(md5(Buffer.from(got ?? []))).toBe(md5(data));
    });

    it('are streamed with their checksum at the end', async () => {
      const bucket = await create();
      const parts = Array.from({ length: 50 }, (_, index) => Buffer.alloc(10_000, index));
      const data = Buffer.concat(parts);
      await bucket.put('stream', Readable.from(parts), { ContentLength: data.length });
      const got = await (await bucket.get('stream')).Body?.transformToByteArray();
      expect(Buffer.from(got ?? []).equals(data)).toBe(true);
    });

    it('do not keep the framing of their transfer', async () => {
      const bucket = await create();
      await bucket.put('stream', Readable.from([Buffer.from('abc')]), { ContentLength: 3 });
      expect((await bucket.head('stream')).ContentEncoding ?? '').toBe('');
    });
  });

  describe('keys', () => {
    it('are taken as they are', async () => {
      const bucket = await create();
      const keys = [
        'with space + plus',
        'ünïcode/𝄞',
        'a//b',
        'trailing/',
        '.hidden',
        'percent%2Fencoded',
        'quote"<&>\'',
        '?query=1#hash',
      ];
      for (const key of keys) await bucket.put(key, key);
      for (const key of keys) expect(await bucket.text(key)).toBe(key);
      expect((await bucket.keys()).sort()).toEqual(keys.toSorted());
    });

    it('are not paths', async () => {
      const bucket = await create();
      const keys = ['../up', 'a/../../b', './here', '..', '/absolute', 'a/./b'];
      for (const key of keys) await bucket.put(key, key);
      for (const key of keys) expect(await bucket.text(key)).toBe(key);
      expect((await bucket.keys()).sort()).toEqual(keys.toSorted());
    });

    it('have 1,024 bytes at most', async () => {
      const bucket = await create();
      await bucket.put('é'.repeat(512), '1');
      await failure(bucket.put(`${'é'.repeat(512)}x`, '1'), 'KeyTooLongError');
    });
  });
}
