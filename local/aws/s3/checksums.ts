import { createHash } from 'node:crypto';
import { crc32 } from 'node:zlib';
import { s3Error } from './s3-error.ts';

interface Digest {
  update(data: Buffer): void;
  /** Base64. */
  result(): string;
}

const hashed = (name: string) => (): Digest => {
  const hash = createHash(name);
  return {
    update: (data) => void hash.update(data),
    result: () => hash.digest('base64'),
  };
};

function crcOf(step: (data: Buffer, crc: number) => number): () => Digest {
  return () => {
    let crc = 0;
    return {
      update: (data) => {
        crc = step(data, crc);
      },
      result: () => {
        const bytes = Buffer.alloc(4);
        bytes.writeUInt32BE(crc);
        return bytes.toString('base64');
      },
    };
  };
}

/** Castagnoli's polynomial, reflected. */
const CRC32C_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte;
  for (let bit = 0; bit < 8; bit += 1) crc = crc & 1 ? (crc >>> 1) ^ 0x82f63b78 : crc >>> 1;
  return crc;
});

function crc32c(data: Buffer, before: number): number {
  let crc = ~before;
  for (const byte of data) crc = (CRC32C_TABLE[(crc ^ byte) & 0xff] ?? 0) ^ (crc >>> 8);
  return ~crc >>> 0;
}

/** The checksums that are verified; one that a client sends and that is not here is refused, never ignored. */
const ALGORITHMS: Readonly<Record<string, { readonly bytes: number; create(): Digest }>> = {
  crc32: { bytes: 4, create: crcOf((data, crc) => crc32(data, crc)) },
  crc32c: { bytes: 4, create: crcOf(crc32c) },
  sha1: { bytes: 20, create: hashed('sha1') },
  sha256: { bytes: 32, create: hashed('sha256') },
};

export const CHECKSUM_HEADER = 'x-amz-checksum-';

/** Headers that begin like a checksum and are none. */
const NOT_CHECKSUMS = ['x-amz-checksum-mode', 'x-amz-checksum-algorithm', 'x-amz-checksum-type'];

const isChecksum = (name: string) =>
  name.startsWith(CHECKSUM_HEADER) && !NOT_CHECKSUMS.includes(name);

/** What a body turned out to be. */
export interface Measured {
  readonly size: number;
  /** Hexadecimal. */
  readonly md5: string;
  readonly sha256: string;
  /** The checksums that the client gave, by algorithm in lower case. */
  readonly checksums: Readonly<Record<string, string>>;
}

/** Measures a body as it comes; {@link BodyMeasure.verify} compares with what the client said of it. */
export class BodyMeasure {
  #size = 0;
  readonly #md5 = createHash('md5');
  readonly #sha256 = createHash('sha256');
  readonly #digests = new Map<string, Digest>();

  /** `announced` are the names of checksum headers and trailers that come with the body. */
  constructor(announced: readonly string[]) {
    for (const name of announced.filter(isChecksum)) {
      const algorithm = name.slice(CHECKSUM_HEADER.length);
      const known = ALGORITHMS[algorithm];
      if (!known) {
        throw s3Error('NotImplemented', `The local S3 cannot verify the checksum ${algorithm}.`);
      }
      this.#digests.set(algorithm, known.create());
    }
  }

  update(chunk: Buffer): void {
    this.#size += chunk.length;
    this.#md5.update(chunk);
    this.#sha256.update(chunk);
    for (const digest of this.#digests.values()) digest.update(chunk);
  }

  /** To be called once, after the end; throws `BadDigest` and its relatives. */
  verify(claims: ReadonlyMap<string, string>): Measured {
    const md5 = this.#md5.digest();
    const sha256 = this.#sha256.digest('hex');
    checkMd5(claims.get('content-md5'), md5);
    checkPayloadHash(claims.get('x-amz-content-sha256'), sha256);
    const checksums: Record<string, string> = {};
    for (const [algorithm, digest] of this.#digests) {
      const claimed = claims.get(CHECKSUM_HEADER + algorithm);
      const computed = digest.result();
      checkChecksum(algorithm, claimed, computed);
      checksums[algorithm] = computed;
    }
    return { size: this.#size, md5: md5.toString('hex'), sha256, checksums };
  }
}

function checkMd5(claimed: string | undefined, computed: Buffer): void {
  if (claimed === undefined) return;
  const bytes = Buffer.from(claimed, 'base64');
  if (bytes.length !== computed.length) {
    throw s3Error('InvalidDigest', 'The Content-MD5 you specified was invalid.');
  }
  if (!bytes.equals(computed)) {
    throw s3Error('BadDigest', 'The Content-MD5 you specified did not match what we received.');
  }
}

/** `UNSIGNED-PAYLOAD` and the `STREAMING-…` forms say nothing about the content. */
function checkPayloadHash(claimed: string | undefined, computed: string): void {
  if (claimed !== undefined && /^[\da-f]{64}$/.test(claimed) && claimed !== computed) {
    throw s3Error(
      'XAmzContentSHA256Mismatch',
      "The provided 'x-amz-content-sha256' header does not match what was computed.",
    );
  }
}

function checkChecksum(algorithm: string, claimed: string | undefined, computed: string): void {
  const name = algorithm.toUpperCase();
  if (claimed === undefined) {
    throw s3Error('InvalidRequest', `The trailer ${CHECKSUM_HEADER}${algorithm} is missing.`);
  }
  if (Buffer.from(claimed, 'base64').length !== ALGORITHMS[algorithm]?.bytes) {
    throw s3Error('InvalidRequest', `Value for ${CHECKSUM_HEADER}${algorithm} header is invalid.`);
  }
  if (claimed !== computed) {
    throw s3Error('BadDigest', `The ${name} you specified did not match the calculated checksum.`);
  }
}
