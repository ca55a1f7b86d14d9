import { isUtf8 } from 'node:buffer';

/** One record of a program's output: what stood before a byte 0x0A. */
export interface FramedRecord {
  /** The record without its newline. Bytes that are no UTF-8 become U+FFFD. */
  readonly text: string;
  /** The same before decoding, for a diagnostic when `invalidUtf8`. */
  readonly bytes: Buffer;
  /** Bytes cut off the end because the record was over the limit; 0 for a whole record. */
  readonly truncatedBytes: number;
  readonly invalidUtf8: boolean;
  /** The output ended without a newline here: the record may be half written. */
  readonly unterminated: boolean;
}

const NEWLINE = 0x0a;
const CARRIAGE_RETURN = 0x0d;
const FIRST_CAPACITY = 4_096;

/**
 * Splits bytes into records at 0x0A and nowhere else: not at U+2028, not at a lone carriage return. A
 * carriage return before the newline belongs to the newline. Empty records are no records.
 *
 * Memory is bounded by `recordBytes`, time by the number of bytes, however the input is cut.
 */
export class RecordFramer {
  readonly #limit: number;
  #kept: Buffer = Buffer.alloc(0);
  #length = 0;
  #excess = 0;
  #lastByte = 0;
  #droppedBytes = 0;

  /** @param recordBytes longest record, in bytes; what is longer is cut and counted. */
  constructor(recordBytes: number) {
    if (!Number.isSafeInteger(recordBytes) || recordBytes < 1) {
      throw new RangeError(`recordBytes must be a positive integer, not ${recordBytes}`);
    }
    this.#limit = recordBytes;
  }

  /** Bytes cut off all records so far. */
  get droppedBytes(): number {
    return this.#droppedBytes;
  }

  push(chunk: Buffer): FramedRecord[] {
    const records: FramedRecord[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end !== -1; end = chunk.indexOf(NEWLINE, from)) {
      this.#append(chunk, from, end);
      this.#finish(records, false);
      from = end + 1;
    }
    this.#append(chunk, from, chunk.length);
    return records;
  }

  /** The unterminated tail, if there is one. */
  end(): FramedRecord[] {
    const records: FramedRecord[] = [];
    this.#finish(records, true);
    return records;
  }

  #append(chunk: Buffer, from: number, to: number): void {
    if (from === to) return;
    // One more than the limit, so that a carriage return after a record of exactly the limit is no excess.
    const taken = Math.min(to - from, this.#limit + 1 - this.#length);
    if (taken > 0) {
      this.#reserve(this.#length + taken);
      chunk.copy(this.#kept, this.#length, from, from + taken);
      this.#length += taken;
    }
    this.#excess += to - from - taken;
    this.#lastByte = chunk[to - 1] as number;
  }

  /** Doubles, so that a record that arrives byte by byte is copied a few times and not once per byte. */
  #reserve(needed: number): void {
    if (needed <= this.#kept.length) return;
    const grown = Math.max(
      needed,
      this.#kept.length * 2,
      Math.min(FIRST_CAPACITY, this.#limit + 1),
    );
    const larger = Buffer.allocUnsafe(Math.min(grown, this.#limit + 1));
    this.#kept.copy(larger, 0, 0, this.#length);
    this.#kept = larger;
  }

  #finish(records: FramedRecord[], unterminated: boolean): void {
    let total = this.#length + this.#excess;
    if (!unterminated && total > 0 && this.#lastByte === CARRIAGE_RETURN) total -= 1;
    if (total > 0) records.push(this.#record(total, unterminated));
    this.#length = 0;
    this.#excess = 0;
    this.#lastByte = 0;
  }

  #record(total: number, unterminated: boolean): FramedRecord {
    const cut = total > this.#limit;
    const end = cut ? wholeCharacters(this.#kept, this.#limit) : total;
    const bytes = Buffer.from(this.#kept.subarray(0, end));
    this.#droppedBytes += total - end;
    return {
      text: bytes.toString('utf8'),
      bytes,
      truncatedBytes: total - end,
      invalidUtf8: !isUtf8(bytes),
      unterminated,
    };
  }
}

/** The greatest cut at or before `limit` that does not go through a UTF-8 character. `bytes[limit]` exists. */
function wholeCharacters(bytes: Buffer, limit: number): number {
  const isContinuation = (index: number): boolean => ((bytes[index] ?? 0) & 0xc0) === 0x80;
  let cut = limit;
  while (cut > 0 && limit - cut < 3 && isContinuation(cut)) cut -= 1;
  // Four continuation bytes in a row are no character: what is no text may be cut anywhere.
  return isContinuation(cut) ? limit : cut;
}
