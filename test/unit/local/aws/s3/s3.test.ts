import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { crc32 } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { LocalS3 } from './local-s3.ts';

/** Only a hang reaches this, however busy the machine is. */
const PATIENT = { timeout: 10_000 };

let s3: LocalS3;
beforeEach(async () => {
  s3 = await LocalS3.start();
});
afterEach(() => s3.stop());

const codeOf = (xml: string) => /<Code>(.*)<\/Code>/.exec(xml)?.[1];

/** The aws-chunked form of some chunks; `extension` is what may follow a size. */
function chunked(chunks: readonly string[], trailers = '', extension = ''): string {
  const framed = [...chunks, ''].map((chunk) => {
    const size = Buffer.byteLength(chunk).toString(16);
    return chunk ? `${size}${extension}\r\n${chunk}\r\n` : `0${extension}\r\n`;
  });
  return `${framed.join('')}${trailers}\r\n`;
}

const base64Crc32 = (text: string) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(text));
  return bytes.toString('base64');
};

describe('a key', () => {
  const hostile = [
    '../../../etc/passwd',
    '..%2f..%2f..%2fescape',
    '%2e%2e/%2e%2e/escape',
    '/etc/passwd',
    '//server/share',
    'C:%5Cwindows%5Csystem32',
    'a/%00/b',
    '%00',
    '.',
    '..',
    '...',
    'a'.repeat(1024),
    `${'x/'.repeat(500)}y`,
    '%0d%0aset-cookie:%20x=1',
    'incoming/x',
    'objects/ab/x',
  ];

  it('never names a file', async () => {
    for (const key of hostile) {
      const put = await s3.send('PUT', `/bucket/${key}`, {}, `body of ${key}`);
      expect([key, put.status]).toEqual([key, 200]);
    }
    for (const key of hostile) {
      const got = await s3.send('GET', `/bucket/${key}`);
      expect([key, got.body]).toEqual([key, `body of ${key}`]);
    }
    const files = await s3.files();
    const expected = /\/data\/objects\/([0-9a-f]{2})\/\1[0-9a-f-]{34}$/;
    expect(files.filter((file) => !expected.test(file))).toEqual([]);
    expect(files).toHaveLength(hostile.length);
  });

  it('is listed as it was sent, whatever is in it', async () => {
    const odd = 'a&b<c>"d"\'\r\ne';
    await s3.send('PUT', `/bucket/${encodeURIComponent(odd)}`, {}, 'x');
    const { body } = await s3.send('GET', '/bucket?list-type=2');
    expect(body).toContain("<Key>a&amp;b&lt;c&gt;&quot;d&quot;'&#xd;&#xa;e</Key>");
  });

  it('has to be readable', async () => {
    const { status, body } = await s3.send('GET', '/bucket/%ff%zz');
    expect([status, codeOf(body)]).toEqual([400, 'InvalidURI']);
  });

  it('leaves no file behind when its object is replaced or deleted', async () => {
    for (const text of ['one', 'two', 'three']) await s3.send('PUT', '/bucket/a', {}, text);
    expect(await s3.files()).toHaveLength(1);
    await s3.send('DELETE', '/bucket/a');
    expect(await s3.files()).toEqual([]);
  });
});

describe('an aws-chunked body', () => {
  const put = (body: string, headers: Record<string, string | number> = {}) =>
    s3.send(
      'PUT',
      '/bucket/a',
      {
        'content-encoding': 'aws-chunked',
        'x-amz-content-sha256': 'STREAMING-UNSIGNED-PAYLOAD-TRAILER',
        ...headers,
      },
      body,
    );
  const stored = async () => (await s3.send('GET', '/bucket/a')).body;

  it('is taken apart, with its trailing checksum verified', async () => {
    const trailers = `x-amz-checksum-crc32:${base64Crc32('hello world')}\r\n`;
    const answer = await put(chunked(['hello ', 'world'], trailers), {
      'x-amz-trailer': 'x-amz-checksum-crc32',
      'x-amz-decoded-content-length': 11,
    });
    expect(answer.status).toBe(200);
    expect(answer.headers['x-amz-checksum-crc32']).toBe(base64Crc32('hello world'));
    expect(await stored()).toBe('hello world');
  });

  it('is taken apart when its chunks are signed', async () => {
    const signature = `;chunk-signature=${'0'.repeat(64)}`;
    const answer = await put(chunked(['hello'], '', signature), {
      'x-amz-content-sha256': 'STREAMING-AWS4-HMAC-SHA256-PAYLOAD',
      'x-amz-decoded-content-length': 5,
    });
    expect(answer.status).toBe(200);
    expect(await stored()).toBe('hello');
  });

  it('may hold what looks like framing', async () => {
    const text = '5\r\nhello\r\n0\r\n\r\n';
    await put(chunked([text, text]), { 'x-amz-decoded-content-length': 2 * text.length });
    expect(await stored()).toBe(text + text);
  });

  it('is taken apart wherever the network cuts it', async () => {
    const body = Buffer.from(
      chunked(['hello ', 'wörld'], `x-amz-checksum-crc32:${base64Crc32('hello wörld')}\r\n`),
    );
    const outgoing = s3.open('PUT', '/bucket/a', {
      'content-encoding': 'aws-chunked',
      'content-length': body.length,
      'x-amz-trailer': 'x-amz-checksum-crc32',
    });
    outgoing.setNoDelay(true);
    for (const byte of body) {
      await new Promise<void>((resolve) => {
        outgoing.write(Buffer.from([byte]), () => resolve());
      });
    }
    const [response] = await once(outgoing.end(), 'response');
    response.resume();
    expect(response.statusCode).toBe(200);
    expect(await stored()).toBe('hello wörld');
  });

  it.each([
    [
      'a wrong trailing checksum',
      chunked(['hello'], 'x-amz-checksum-crc32:AAAAAA==\r\n'),
      'BadDigest',
    ],
    ['a missing trailer', chunked(['hello']), 'InvalidRequest'],
    [
      'a checksum of the wrong length',
      chunked(['hello'], 'x-amz-checksum-crc32:AA==\r\n'),
      'InvalidRequest',
    ],
    ['a size that is none', 'zz\r\nhello\r\n0\r\n\r\n', 'InvalidRequest'],
    ['a chunk longer than its size', '3\r\nhello\r\n0\r\n\r\n', 'InvalidRequest'],
    ['an end in the middle of a chunk', '10\r\nhello', 'IncompleteBody'],
    ['no last chunk', '5\r\nhello\r\n', 'IncompleteBody'],
    ['something after the end', `${chunked(['hello'])}more\r\n`, 'InvalidRequest'],
    ['an endless size', '1'.repeat(20_000), 'InvalidRequest'],
  ])('is refused with %s, and nothing is stored', async (_title, body, code) => {
    const answer = await put(body, { 'x-amz-trailer': 'x-amz-checksum-crc32' });
    expect([answer.status, codeOf(answer.body)]).toEqual([400, code]);
    expect((await s3.send('GET', '/bucket/a')).status).toBe(404);
    expect(await s3.files()).toEqual([]);
  });

  it('is refused when it is shorter than announced', async () => {
    const answer = await put(chunked(['hello']), { 'x-amz-decoded-content-length': 6 });
    expect(codeOf(answer.body)).toBe('IncompleteBody');
    expect(await s3.files()).toEqual([]);
  });
});

describe('a body', () => {
  it('is not visible before it is complete, and leaves nothing when its sender goes away', async () => {
    await s3.send('PUT', '/bucket/a', {}, 'before');
    const outgoing = s3.open('PUT', '/bucket/a', { 'content-length': 1000 });
    outgoing.on('error', () => {});
    outgoing.write('half');
    await expect.poll(() => s3.files(), PATIENT).toHaveLength(2);
    expect((await s3.send('GET', '/bucket/a')).body).toBe('before');
    outgoing.destroy();
    await expect.poll(() => s3.files(), PATIENT).toHaveLength(1);
    expect((await s3.send('GET', '/bucket/a')).body).toBe('before');
  });

  it('has to be what its hash says', async () => {
    const hash = createHash('sha256').update('hello').digest('hex');
    const put = (body: string) =>
      s3.send('PUT', '/bucket/a', { 'x-amz-content-sha256': hash }, body);
    expect(codeOf((await put('other')).body)).toBe('XAmzContentSHA256Mismatch');
    expect((await put('hello')).status).toBe(200);
  });

  it('is checked by CRC-32C and SHA-1 too, and by nothing unknown', async () => {
    const put = (name: string, value: string) =>
      s3.send('PUT', '/bucket/a', { [`x-amz-checksum-${name}`]: value }, '123456789');
    // The well-known check value of CRC-32C is e3069283.
    expect((await put('crc32c', '4waSgw==')).status).toBe(200);
    expect(codeOf((await put('crc32c', 'y/Q5Jg==')).body)).toBe('BadDigest');
    const sha1 = createHash('sha1').update('123456789').digest('base64');
    expect((await put('sha1', sha1)).status).toBe(200);
    expect((await put('crc64nvme', 'AAAAAAAAAAA=')).status).toBe(501);
  });

  it('may have 2 KB of metadata', async () => {
    const put = (bytes: number) =>
      s3.send('PUT', '/bucket/a', { 'x-amz-meta-k': 'x'.repeat(bytes - 1) }, 'x');
    expect((await put(2048)).status).toBe(200);
    expect(codeOf((await put(2049)).body)).toBe('MetadataTooLarge');
  });

  it('is read to its end although it is replaced meanwhile', async () => {
    const size = 8 * 1024 * 1024;
    await s3.send('PUT', '/bucket/a', {}, Buffer.alloc(size, 'a'));
    const [response] = await once(s3.open('GET', '/bucket/a').end(), 'response');
    await s3.send('PUT', '/bucket/a', {}, 'b');
    let received = 0;
    for await (const chunk of response) received += chunk.length;
    expect(received).toBe(size);
  });
});

describe('opening again', () => {
  it('has the objects of before and sweeps what was never finished', async () => {
    await s3.send('PUT', '/bucket/a', { 'x-amz-meta-run': 'r1' }, 'kept');
    const orphans = ['data/incoming/half', 'data/objects/ab/ab-orphan'];
    for (const orphan of orphans) {
      const path = join(s3.root, orphan);
      await mkdir(dirname(path), { recursive: true });
      await writeFile(path, 'x');
    }
    await s3.restart();
    const got = await s3.send('GET', '/bucket/a');
    expect([got.body, got.headers['x-amz-meta-run']]).toEqual(['kept', 'r1']);
    expect(await s3.files()).toHaveLength(1);
  });
});

describe('what is not emulated', () => {
  it.each([
    ['PUT', '/bucket?versioning'],
    ['PUT', '/bucket?lifecycle'],
    ['GET', '/bucket?acl'],
    ['GET', '/bucket'],
    ['POST', '/bucket/a?uploads'],
    ['GET', '/bucket/a?versionId=1'],
  ])('is refused rather than misunderstood: %s %s', async (method, path) => {
    const { status, body } = await s3.send(method, path);
    expect([status, codeOf(body)]).toEqual([501, 'NotImplemented']);
  });

  it('includes copies and unknown methods', async () => {
    const copy = await s3.send('PUT', '/bucket/a', { 'x-amz-copy-source': '/bucket/b' });
    expect(copy.status).toBe(501);
    for (const path of ['/', '/bucket', '/bucket/a']) {
      expect((await s3.send('PATCH', path)).status).toBe(405);
    }
  });
});

describe('a bucket', () => {
  it('is created once outside the oldest region', async () => {
    await s3.stop();
    s3 = await LocalS3.start('eu-central-1');
    const { status, body } = await s3.send('PUT', '/bucket');
    expect([status, codeOf(body)]).toEqual([409, 'BucketAlreadyOwnedByYou']);
    expect((await s3.send('HEAD', '/bucket')).headers['x-amz-bucket-region']).toBe('eu-central-1');
  });

  it('deletes no keys for XML that has none', async () => {
    const answer = await s3.send('POST', '/bucket?delete', {}, '<Delete></Delete>');
    expect([answer.status, codeOf(answer.body)]).toEqual([400, 'MalformedXML']);
  });

  it('answers errors of HEAD without a body', async () => {
    const answer = await s3.send('HEAD', '/bucket/none');
    expect([answer.status, answer.body]).toEqual([404, '']);
  });
});
