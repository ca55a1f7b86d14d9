import { CommanderError } from 'commander';
import { ApiError, ConnectionError, ReplyError, StreamError } from '../client-error.ts';

/** Exit codes beside those of a run's outcome (1 to 4); the numbers are those of sysexits.h and of shells. */
export const EXIT = {
  ok: 0,
  /** Of `doctor`: a check failed. */
  unwell: 1,
  /** The command line or the request it makes is wrong. */
  usage: 64,
  /** The API cannot be reached, or cannot serve now. */
  unavailable: 69,
  /** A fault of this program, or an API that does not follow the contract. */
  internal: 70,
  /** No valid token, or not allowed. */
  auth: 77,
  /** Ctrl-C. */
  interrupted: 130,
} as const;

/** What a command could not do, said by the CLI itself. */
export class CliError extends Error {
  readonly exitCode: number;
  readonly code: string;
  readonly field: string | undefined;
  readonly remedy: string | undefined;

  constructor(
    exitCode: number,
    code: string,
    message: string,
    options: { field?: string; remedy?: string; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'CliError';
    this.exitCode = exitCode;
    this.code = code;
    this.field = options.field;
    this.remedy = options.remedy;
  }
}

export function usageError(message: string, options: { field?: string; remedy?: string } = {}) {
  return new CliError(EXIT.usage, 'usage', message, options);
}

/** The reason with which Ctrl-C aborts what is under way. */
export class Interrupted extends CliError {
  constructor(message: string) {
    super(EXIT.interrupted, 'interrupted', message);
    this.name = 'Interrupted';
  }
}

/** An error as it is shown, or printed as JSON. */
export interface ErrorReport {
  readonly code: string;
  readonly message: string;
  readonly field?: string | undefined;
  readonly remedy?: string | undefined;
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
}

const DOCTOR = '`nexusdesk doctor` shows what is wrong';
const NEW_TOKEN =
  'set NEXUSDESK_TOKEN to a valid token, or start the local stack again (`npm start`) for a new one';

export function reportOf(error: unknown): ErrorReport {
  if (error instanceof ApiError) {
    const remedy = error.remedy ?? (error.status === 401 ? NEW_TOKEN : undefined);
    const { code, message, field, status, requestId } = error;
    return { code, message, field, remedy, status, requestId };
  }
  if (error instanceof CliError) {
    const { code, message, field, remedy } = error;
    return { code, message, field, remedy };
  }
  if (error instanceof CommanderError) {
    const message =
      error.code === 'commander.help'
        ? 'there is no command'
        : error.message.replace(/^error: /, '');
    return { code: 'usage', message, remedy: '`nexusdesk --help` lists the commands and options' };
  }
  if (error instanceof ConnectionError) {
    const remedy = `is the API running (\`npm start\` for the local stack)? ${DOCTOR}`;
    return { code: error.code, message: error.message, remedy };
  }
  if (error instanceof StreamError) {
    const remedy = '`nexusdesk tail <run id>` reads the run again from its first event';
    return { code: error.code, message: error.message, remedy };
  }
  if (error instanceof ReplyError) {
    return { code: error.code, message: error.message, remedy: DOCTOR };
  }
  return { code: 'internal', message: error instanceof Error ? error.message : String(error) };
}

export function exitCodeOf(error: unknown): number {
  if (error instanceof CliError) return error.exitCode;
  if (error instanceof CommanderError) return error.exitCode === 0 ? EXIT.ok : EXIT.usage;
  if (error instanceof ConnectionError || error instanceof StreamError) return EXIT.unavailable;
  if (!(error instanceof ApiError)) return EXIT.internal;
  if (error.status === 401 || error.status === 403) return EXIT.auth;
  return error.status === 429 || error.status >= 500 ? EXIT.unavailable : EXIT.usage;
}
