import { Transform, type TransformCallback } from 'node:stream';
import { s3Error } from './s3-error.ts';

const MAX_LINE_BYTES = 16 * 1024;

type Expected = 'size' | 'data' | 'end of data' | 'trailer' | 'nothing';

/**
 * Takes the `aws-chunked` framing off a body: hexadecimal size, an optional signature (not checked here),
 * data, and after the last chunk trailers, which are in {@link trailers} once the stream has ended.
 */
export class ChunkedBody extends Transform {
  /** Lower-case names. */
  readonly trailers = new Map<string, string>();
  #expected: Expected = 'size';
  #dataLeft = 0;
  #line = Buffer.alloc(0);

  override _transform(chunk: Buffer, _encoding: string, done: TransformCallback): void {
    try {
      this.#consume(chunk);
      done();
    } catch (error) {
      done(error as Error);
    }
  }

  override _flush(done: TransformCallback): void {
    // Some clients end after the last chunk without the empty line that closes the trailers.
    const complete = this.#expected === 'nothing' || this.#expected === 'trailer';
    done(complete ? null : s3Error('IncompleteBody', 'The request body terminated unexpectedly'));
  }

  #consume(chunk: Buffer): void {
    let rest = chunk;
    while (rest.length > 0) {
      if (this.#expected === 'data') {
        const data = rest.subarray(0, this.#dataLeft);
        this.push(data);
        this.#dataLeft -= data.length;
        rest = rest.subarray(data.length);
        if (this.#dataLeft === 0) this.#expected = 'end of data';
      } else {
        rest = this.#consumeLine(rest);
      }
    }
  }

  #consumeLine(chunk: Buffer): Buffer {
    const newline = chunk.indexOf(0x0a);
    const part = newline < 0 ? chunk : chunk.subarray(0, newline);
    this.#line = Buffer.concat([this.#line, part]);
    if (this.#line.length > MAX_LINE_BYTES) throw malformed('a line is too long');
    if (newline < 0) return chunk.subarray(chunk.length);
    const line = this.#line.toString('latin1').replace(/\r$/, '');
    this.#line = Buffer.alloc(0);
    this.#take(line);
    return chunk.subarray(newline + 1);
  }

  #take(line: string): void {
    switch (this.#expected) {
      case 'size':
        this.#takeSize(line);
        break;
      case 'end of data':
        if (line !== '') throw malformed('a chunk is longer than its size');
        this.#expected = 'size';
        break;
      case 'trailer':
        this.#takeTrailer(line);
        break;
      case 'data':
      case 'nothing':
        throw malformed('data after the end');
    }
  }

  #takeSize(line: string): void {
    const size = /^([\da-f]{1,12})(;.*)?$/i.exec(line)?.[1];
    if (size === undefined) throw malformed('a chunk has no size');
    this.#dataLeft = Number.parseInt(size, 16);
    this.#expected = this.#dataLeft > 0 ? 'data' : 'trailer';
  }

  #takeTrailer(line: string): void {
    if (line === '') {
      this.#expected = 'nothing';
      return;
    }
    const colon = line.indexOf(':');
    if (colon < 1) throw malformed('a trailer has no name');
    this.trailers.set(line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim());
  }
}

const malformed = (what: string) =>
  s3Error('InvalidRequest', `The aws-chunked body is malformed: ${what}.`);
