import type { ChildProcess } from 'node:child_process';
import { type DrainLimits, OutputPump } from './output-pump.ts';
import type { ProcessOutcome } from './process-outcome.ts';
import type { ProcessSpec } from './process-spec.ts';
import { type FramedRecord, RecordFramer } from './record-framer.ts';
import { ByteTail } from './stderr-tail.ts';

export interface OutputObservers {
  onRecord(record: FramedRecord): void | Promise<void>;
  onStderrLine(line: string): void;
  /** Once, when stdout is over its limit. */
  onLimit(): void;
  /** An observer threw; no more records will be given. */
  onFailure(error: unknown): void;
}

const STDERR_TAIL_BYTES = 65_536;
const STDERR_LINE_BYTES = 8_192;

/**
 * The two output pipes of a process. Both are always read, else an engine that writes to the other one
 * blocks. Bytes are masked first, then framed, then cut: the other way round half a secret survives a cut.
 */
export class ProcessOutput {
  readonly #spec: ProcessSpec;
  readonly #observers: OutputObservers;
  readonly #framer: RecordFramer;
  readonly #tail = new ByteTail(STDERR_TAIL_BYTES);
  readonly #stdout: OutputPump | undefined;
  readonly #stderr: OutputPump | undefined;
  #outputBytes = 0;
  #stderrBytes = 0;
  /** Bytes after the output limit. */
  #refusedBytes = 0;

  constructor(child: ChildProcess, spec: ProcessSpec, observers: OutputObservers) {
    this.#spec = spec;
    this.#observers = observers;
    this.#framer = new RecordFramer(spec.limits.recordBytes);
    // A failed spawn may leave no pipes.
    if (child.stdout !== null) this.#stdout = this.#readStdout(child.stdout);
    if (child.stderr !== null) this.#stderr = this.#readStderr(child.stderr);
    for (const pump of [this.#stdout, this.#stderr]) pump?.done.catch(observers.onFailure);
  }

  /** Bytes of stdout so far. */
  get bytes(): number {
    return this.#outputBytes;
  }

  /** Some of stdout was refused because it was over the limit. */
  get overLimit(): boolean {
    return this.#refusedBytes > 0;
  }

  get stderrTail(): string {
    return this.#tail.text();
  }

  /** Reads what is left, for a process that has ended. Afterwards no observer is called any more. */
  async drain(limits: DrainLimits, monotonic: () => number): Promise<void> {
    await Promise.all(
      [this.#stdout, this.#stderr].map((pump) =>
        // An observer's failure was reported by `onFailure`.
        pump?.drain(limits, monotonic).catch(() => {}),
      ),
    );
  }

  totals(): Pick<
    ProcessOutcome,
    'outputBytes' | 'stderrBytes' | 'droppedBytes' | 'outputComplete' | 'stderrTail'
  > {
    return {
      outputBytes: this.#outputBytes,
      stderrBytes: this.#stderrBytes,
      droppedBytes: this.#framer.droppedBytes + this.#refusedBytes,
      outputComplete: (this.#stdout?.complete ?? true) && !this.overLimit,
      stderrTail: this.stderrTail,
    };
  }

  #readStdout(stream: NonNullable<ChildProcess['stdout']>): OutputPump {
    const mask = this.#spec.masker.stream();
    const give = async (bytes: Buffer[], isAbandoned: () => boolean): Promise<void> => {
      for (const part of bytes) {
        for (const record of this.#framer.push(part)) {
          if (isAbandoned()) return;
          await this.#observers.onRecord(record);
        }
      }
    };
    return new OutputPump(
      stream,
      (chunk, isAbandoned) => give(mask.push(this.#withinLimit(chunk)), isAbandoned),
      async (isAbandoned) => {
        await give(mask.end(), isAbandoned);
        for (const record of this.#framer.end()) {
          if (!isAbandoned()) await this.#observers.onRecord(record);
        }
      },
    );
  }

  #withinLimit(chunk: Buffer): Buffer {
    const room = Math.max(0, this.#spec.limits.outputBytes - this.#outputBytes);
    this.#outputBytes += chunk.length;
    if (chunk.length <= room) return chunk;
    const first = !this.overLimit;
    this.#refusedBytes += chunk.length - room;
    if (first) this.#observers.onLimit();
    return chunk.subarray(0, room);
  }

  #readStderr(stream: NonNullable<ChildProcess['stderr']>): OutputPump {
    const mask = this.#spec.masker.stream();
    const framer = new RecordFramer(STDERR_LINE_BYTES);
    const give = (parts: Buffer[]): void => {
      for (const part of parts) {
        this.#tail.push(part);
        for (const { text } of framer.push(part)) this.#observers.onStderrLine(text);
      }
    };
    return new OutputPump(
      stream,
      async (chunk) => {
        this.#stderrBytes += chunk.length;
        give(mask.push(chunk));
      },
      async () => {
        give(mask.end());
        for (const { text } of framer.end()) this.#observers.onStderrLine(text);
      },
    );
  }
}
