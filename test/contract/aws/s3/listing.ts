import { describe, expect } from 'vitest';
import { failure } from '../sdk.ts';
import { type S3Part, TestBucket } from './fixture.ts';

/** `ListObjectsV2`. */
export function listing({ it, endpoint }: S3Part): void {
  const filled = async (...keys: string[]) => {
    const bucket = await TestBucket.create(endpoint());
    for (const key of keys) await bucket.put(key, key);
    return bucket;
  };

  describe('lists', () => {
    it('describe objects, in order of their bytes', async () => {
      const bucket = await filled('b', 'a', 'B', 'é', 'a/1');
      const listed = await bucket.list();
      expect(listed).toMatchObject({ KeyCount: 5, IsTruncated: false, Name: bucket.name });
      expect(listed.Contents?.map((object) => object.Key)).toEqual(['B', 'a', 'a/1', 'b', 'é']);
      expect(listed.Contents?.[0]).toMatchObject({
        Size: 1,
        ETag: expect.stringMatching(/^"[0-9a-f]{32}"$/),
        LastModified: expect.any(Date),
        StorageClass: 'STANDARD',
      });
    });

    it('of nothing are empty', async () => {
      const bucket = await filled();
      expect(await bucket.list()).toMatchObject({ KeyCount: 0, IsTruncated: false });
      expect(await bucket.keys({ Prefix: 'none' })).toEqual([]);
    });

    it('begin with a prefix', async () => {
      const bucket = await filled('run/1', 'run/2', 'runs', 'ru');
      expect(await bucket.keys({ Prefix: 'run/' })).toEqual(['run/1', 'run/2']);
      expect(await bucket.keys({ Prefix: 'run' })).toEqual(['run/1', 'run/2', 'runs']);
    });

    it('fold what is behind a delimiter', async () => {
      const bucket = await filled('r/1/log', 'r/1/out', 'r/2/log', 'r/readme', 's/1');
      const listed = await bucket.list({ Prefix: 'r/', Delimiter: '/' });
      expect(listed.Contents?.map((object) => object.Key)).toEqual(['r/readme']);
      expect(listed.CommonPrefixes).toEqual([{ Prefix: 'r/1/' }, { Prefix: 'r/2/' }]);
      expect(listed.KeyCount).toBe(3);
    });

    it('come in pages', async () => {
      const keys = ['p/1', 'p/2', 'p/3', 'p/4', 'p/5'];
      const bucket = await filled(...keys, 'q');
      const found: (string | undefined)[] = [];
      const sizes: number[] = [];
      let ContinuationToken: string | undefined;
      do {
        const page = await bucket.list({ Prefix: 'p/', MaxKeys: 2, ContinuationToken });
        found.push(...(page.Contents ?? []).map((object) => object.Key));
        sizes.push(page.KeyCount ?? 0);
        expect(page.IsTruncated).toBe(page.NextContinuationToken !== undefined);
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken);
      expect(found).toEqual(keys);
      expect(sizes).toEqual([2, 2, 1]);
    });

    it('count folded keys once, across pages', async () => {
      const bucket = await filled('a/1', 'a/2', 'b', 'c/1', 'c/2', 'd');
      const pages: string[][] = [];
      let ContinuationToken: string | undefined;
      do {
        const page = await bucket.list({ Delimiter: '/', MaxKeys: 2, ContinuationToken });
        pages.push([
          ...(page.Contents ?? []).map((object) => String(object.Key)),
          ...(page.CommonPrefixes ?? []).map((each) => String(each.Prefix)),
        ]);
        ContinuationToken = page.NextContinuationToken;
      } while (ContinuationToken);
      expect(pages.map((page) => page.sort())).toEqual([
        ['a/', 'b'],
        ['c/', 'd'],
      ]);
    });

    it('begin after a key', async () => {
      const bucket = await filled('a', 'b', 'c');
      expect(await bucket.keys({ StartAfter: 'a' })).toEqual(['b', 'c']);
      expect(await bucket.keys({ StartAfter: 'aa' })).toEqual(['b', 'c']);
    });

    it('encode keys when told to', async () => {
      const bucket = await filled('a b/ü');
      expect(await bucket.keys({ EncodingType: 'url' })).toEqual(['a%20b/%C3%BC']);
    });

    it('take a token that was given', async () => {
      const bucket = await filled('a');
      await failure(bucket.list({ ContinuationToken: '' }), 'InvalidArgument');
    });
  });
}
