/** The last bytes of a stream, in fixed memory. */
export class ByteTail {
  readonly #ring: Buffer;
  #written = 0;

  constructor(bytes: number) {
    this.#ring = Buffer.alloc(bytes);
  }

  push(chunk: Buffer): void {
    const size = this.#ring.length;
    const part = chunk.length > size ? chunk.subarray(chunk.length - size) : chunk;
    const at = (this.#written + chunk.length - part.length) % size;
    const first = Math.min(part.length, size - at);
    part.copy(this.#ring, at, 0, first);
    part.copy(this.#ring, 0, first);
    this.#written += chunk.length;
  }

  /** Decoded; a character whose beginning is lost is left out. */
  text(): string {
    const size = this.#ring.length;
    if (this.#written <= size) return this.#ring.toString('utf8', 0, this.#written);
    const at = this.#written % size;
    const bytes = Buffer.concat([this.#ring.subarray(at), this.#ring.subarray(0, at)]);
    let start = 0;
    while (start < 3 && ((bytes[start] ?? 0) & 0xc0) === 0x80) start += 1;
    return bytes.toString('utf8', start);
  }
}
