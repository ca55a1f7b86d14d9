import { deflateRawSync, inflateRawSync } from 'node:zlib';

const WRITE_UNIT_BYTES = 1024;

/** JSON, compressed only when that saves at least one write unit of an item with `besides` other bytes. */
export function packJson(value: unknown, besides: number): string | Uint8Array {
  const text = JSON.stringify(value);
  const plain = Buffer.byteLength(text);
  if (besides + plain <= WRITE_UNIT_BYTES) return text;
  const packed = deflateRawSync(text);
  return units(besides + packed.length) < units(besides + plain) ? packed : text;
}

export function unpackJson(body: string | Uint8Array): unknown {
  return JSON.parse(typeof body === 'string' ? body : inflateRawSync(body).toString('utf8'));
}

function units(bytes: number): number {
  return Math.ceil(bytes / WRITE_UNIT_BYTES);
}
