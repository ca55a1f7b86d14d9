import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { PACKING_DICTIONARY as dictionary } from './packing-dictionary.ts';

const WRITE_UNIT_BYTES = 1024;

/**
 * First byte of what was packed with the dictionary. Bodies without it were packed without one: a deflate stream begins
 * with its block type in these bits, and type 3 does not exist.
 */
const WITH_DICTIONARY = 0x06;

/** JSON, compressed only when that saves at least one write unit of an item with `besides` other bytes. */
export function packJson(value: unknown, besides: number): string | Uint8Array {
  const text = JSON.stringify(value);
  const plain = Buffer.byteLength(text);
  if (besides + plain <= WRITE_UNIT_BYTES) return text;
  const packed = Buffer.concat([
    Buffer.of(WITH_DICTIONARY),
    deflateRawSync(text, { dictionary, level: 9, memLevel: 9 }),
  ]);
  return units(besides + packed.length) < units(besides + plain) ? packed : text;
}

export function unpackJson(body: string | Uint8Array): unknown {
  return JSON.parse(typeof body === 'string' ? body : inflate(body).toString('utf8'));
}

function inflate(body: Uint8Array): Buffer {
  return body[0] === WITH_DICTIONARY
    ? inflateRawSync(body.subarray(1), { dictionary })
    : inflateRawSync(body);
}

function units(bytes: number): number {
  return Math.ceil(bytes / WRITE_UNIT_BYTES);
}
