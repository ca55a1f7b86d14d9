import type {
  ExecutionRequest,
  ExecutionResult,
  NewEvent,
  PlatformError,
} from '#shared/contracts/index.ts';
import type { AdapterDescriptor } from './engine-descriptor.ts';

/**
 * Longest record that a host must pass on whole, in bytes. Codex reports up to 1 MiB of a command's output in one
 * record, in JSON whose escapes can make six bytes of one; what is cut off can no longer be read at all.
 */
export const MAX_RECORD_BYTES = 8 * 1024 * 1024;

/** Where engines' programs are installed on this host. */
export interface EngineLocations {
  /** The folder `containers/`, absolute: `<root>/<engine folder>/node_modules/…` */
  readonly programsRoot: string;
  /** A Node binary for engines written in JavaScript, absolute. */
  readonly nodePath: string;
  readonly platform: NodeJS.Platform;
  readonly arch: string;
}

export type EngineAvailability =
  | { readonly available: true; readonly version: string }
  | { readonly available: false; readonly reason: string };

/** What the host has made ready for one execution. All paths are absolute, as the engine will see them. */
export interface PrepareContext {
  readonly locations: EngineLocations;
  /** The run's private working directory; the engine's current directory. */
  readonly workdir: string;
  /** Private to the run and outside `workdir`: the engine's home and its configuration. */
  readonly homeDir: string;
  readonly tempDir: string;
  /**
   * By name, as asked for by the descriptor. Put them only where the engine itself reads them: its environment, or,
   * when the engine runs commands of a model, a file of its home that it consumes before the first of them.
   */
  readonly credentials: Readonly<Record<string, string>>;
  /** What the host's sandbox really isolates; an engine's own sandbox may be switched off only inside it. */
  readonly isolation: { readonly filesystem: boolean; readonly network: boolean };
  /** Writes a file below `homeDir` (mode 0600), making its folders. */
  writeHomeFile(path: string, content: string): Promise<void>;
}

/** How to start the engine. The host adds nothing to `env` and passes nothing else. */
export interface EngineLaunch {
  /** `[file, ...arguments]`; the file is absolute. */
  readonly argv: readonly [string, ...string[]];
  readonly env: Readonly<Record<string, string>>;
  /** Written to stdin, which is then closed. Empty: closed at once. */
  readonly stdin: string;
  /** Folders the sandbox shows read-only beside the system's own. */
  readonly readOnlyPaths: readonly string[];
  /** How the engine is asked to stop before it is killed. */
  readonly interruptSignal: 'SIGINT' | 'SIGTERM';
}

/** One record of the engine's stdout, split at byte 0x0A, masked, bounded. */
export interface EngineRecord {
  readonly text: string;
  /** Bytes cut off a record over the limit. */
  readonly truncatedBytes: number;
  readonly invalidUtf8: boolean;
  /** The last record, without its newline: it may be half written. */
  readonly unterminated: boolean;
  /** ISO time at which it was read. */
  readonly at: string;
}

/** How the process ended, after everything it left behind was verified gone. */
export interface EngineEnding {
  /** Why the host ended it; `exited` when it ended by itself. */
  readonly cause:
    | 'exited'
    | 'cancelled'
    | 'timed_out'
    | 'output_limit'
    | 'memory_limit'
    | 'capability_violation'
    | 'budget_exhausted'
    | 'spawn_failed';
  readonly exitCode: number | null;
  readonly signal: string | null;
  /** For `spawn_failed`: what the system said. */
  readonly message?: string;
  /** Last part of stderr, masked; for diagnostics only, never parsed as protocol (B10). */
  readonly stderrTail: string;
  readonly at: string;
}

/** What the translator makes of one record. */
export interface Translation {
  readonly events: readonly NewEvent[];
  /** The engine did what this run may not do (CAP-3): the host stops it at once. */
  readonly violation?: PlatformError;
  /** A budget is used up: the host stops the engine and the run ends budget_exhausted. */
  readonly budgetExhausted?: PlatformError;
}

/** Turns one engine's native output into events. Holds the state of one execution; does no I/O. */
export interface EngineTranslator {
  onRecord(record: EngineRecord): Translation;
  /** Called once. The precedence over terminal event, exit code and signal is a table in the adapter. */
  conclude(ending: EngineEnding): {
    readonly events: readonly NewEvent[];
    readonly result: ExecutionResult;
  };
}

export interface EngineExecution {
  readonly launch: EngineLaunch;
  readonly translator: EngineTranslator;
}

/**
 * Our side of one (engine, protocol, version). It never spawns, never writes a run's status and never sees AWS.
 * The contract suite (`test/contract/engine-adapter.suite.ts`) says what every adapter must do.
 */
export interface EngineAdapter {
  readonly descriptor: AdapterDescriptor;
  /** Is the engine's program here, in a version this adapter supports? Reads files only. */
  probe(locations: EngineLocations): Promise<EngineAvailability>;
  /** @throws PlatformError `engine_config_invalid`, `argument_invalid`, `unsupported_capability`, `engine_not_installed`,
   *   `engine_version_unsupported`, `credential_unavailable`, `workdir_unavailable` */
  prepare(request: ExecutionRequest, context: PrepareContext): Promise<EngineExecution>;
}
