import { createHash, type Hash } from 'node:crypto';

/**
 * What happened, line by line. All lines go into a hash, so that two runs of a seed can be compared to the last bit;
 * the text is only kept where somebody will read it.
 */
export class Trace {
  readonly #hash: Hash = createHash('sha1');
  readonly #lines: string[] | undefined;
  #count = 0;
  #pending = '';

  constructor(options: { keep: boolean }) {
    this.#lines = options.keep ? [] : undefined;
  }

  add(line: string): void {
    this.#count += 1;
    this.#pending += `${line}\n`;
    if (this.#pending.length > 16_384) this.#flush();
    this.#lines?.push(line);
  }

  get lines(): readonly string[] {
    return this.#lines ?? [];
  }

  get count(): number {
    return this.#count;
  }

  digest(): string {
    this.#flush();
    return this.#hash.copy().digest('hex');
  }

  #flush(): void {
    this.#hash.update(this.#pending);
    this.#pending = '';
  }
}
