import { maskJsonValue } from './mask-json.ts';
import { type MaskStream, openStream, SecretMaskStream } from './mask-stream.ts';
import { buildAutomaton } from './pattern-automaton.ts';
import { secretForms } from './secret-forms.ts';

export interface MaskerOptions {
  /** What stands for a secret. Default `***`. */
  readonly replacement?: string;
  /** Secrets shorter than this many UTF-8 bytes are not masked (see `ignored`). Default 6. */
  readonly minLength?: number;
}

/**
 * Removes known secrets, in every form of `secretForms`, from what a run leaves behind.
 * Order matters: mask bytes first, then frame, then cut. Cut first, and half a secret survives.
 */
export interface Masker {
  /** A new stream with its own state; one per pipe. */
  stream(): MaskStream;
  maskBuffer(bytes: Buffer): Buffer;
  /** Returns `text` itself when it holds no secret. */
  maskText(text: string): string;
  /** Masks all strings of a JSON value, keys included. The input is not changed. */
  maskJson<T>(value: T): T;
  /** Secrets that were too short to be masked; the caller should say so instead of trusting the mask. */
  readonly ignored: number;
}

export function createMasker(secrets: readonly string[], options: MaskerOptions = {}): Masker {
  const { replacement = '***', minLength = 6 } = options;
  const distinct = [...new Set(secrets)];
  const patterns = distinct.flatMap((secret) => secretForms(secret, minLength));
  const ignored = distinct.filter((secret) => Buffer.byteLength(secret) < minLength).length;
  if (patterns.length === 0) return openMasker(ignored);

  const automaton = buildAutomaton(patterns);
  const mark = Buffer.from(replacement);
  const stream = (): SecretMaskStream => new SecretMaskStream(automaton, mark, minLength);

  const maskBuffer = (bytes: Buffer): Buffer => {
    const whole = stream();
    return Buffer.concat([...whole.push(bytes), ...whole.endOfWhole()]);
  };
  const maskText = (text: string): string => {
    const bytes = Buffer.from(text);
    const masked = maskBuffer(bytes);
    return masked.equals(bytes) ? text : masked.toString();
  };
  return {
    stream,
    maskBuffer,
    maskText,
    maskJson: (value) => maskJsonValue(value, maskText),
    ignored,
  };
}

function openMasker(ignored: number): Masker {
  return {
    stream: () => openStream,
    maskBuffer: (bytes) => bytes,
    maskText: (text) => text,
    maskJson: (value) => value,
    ignored,
  };
}
