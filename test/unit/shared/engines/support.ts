import {
  type Capability,
  capabilities,
  type ExecutionRequest,
  type ExecutionResult,
  type NewEvent,
  newEventSchema,
  PLATFORM_EVENTS,
  type PlatformEventPayload,
  type PlatformEventType,
} from '#shared/contracts/index.ts';
import type { Json } from '#shared/engines/bounds.ts';
import type {
  AdapterDescriptor,
  EngineEnding,
  EngineRecord,
  EngineTranslator,
  PrepareContext,
} from '#shared/engines/index.ts';

export const AT = '2026-11-30T12:00:00.000Z';

export interface RequestOptions {
  readonly prompt?: string;
  readonly config?: Json;
  /** Effective capabilities; default: all that the adapter declares. */
  readonly effective?: readonly Capability[];
  readonly budget?: ExecutionRequest['budget'];
  readonly attempt?: number;
  readonly nativeSessionId?: string;
}

export function executionRequest(
  { triple, declared }: AdapterDescriptor,
  options: RequestOptions = {},
): ExecutionRequest {
  const effective = options.effective ? capabilities(...options.effective) : declared;
  return {
    schemaVersion: '1',
    executionId: 'run_01ARZ3NDEKTSV4RRFFQ69G5FAV',
    tenantId: 'tenant-a',
    attempt: options.attempt ?? 1,
    engine: triple,
    ...(options.nativeSessionId === undefined
      ? {}
      : { session: { sessionId: 'session-a', nativeSessionId: options.nativeSessionId } }),
    input: { prompt: options.prompt ?? 'write a file' },
    config: options.config ?? {},
    capabilities: { declared, available: declared, effective, refusals: [] },
    budget: options.budget ?? {},
    deadlineAt: '2099-01-01T00:00:00.000Z',
    trace: { traceId: '0af7651916cd43dd8448eb211c80319c' },
  };
}

/** A context whose home is a map: nothing is written anywhere. */
export function memoryContext(
  overrides: Partial<PrepareContext> = {},
): PrepareContext & { readonly files: Map<string, string> } {
  const files = new Map<string, string>();
  return {
    locations: {
      programsRoot: '/engines',
      nodePath: process.execPath,
      platform: process.platform,
      arch: process.arch,
    },
    workdir: '/run/workdir',
    homeDir: '/run/home',
    tempDir: '/run/tmp',
    credentials: { openai: 'key-of-the-tenant' },
    isolation: { filesystem: true, network: true },
    writeHomeFile: async (path, content) => void files.set(path, content),
    files,
    ...overrides,
  };
}

export function record(text: string, overrides: Partial<EngineRecord> = {}): EngineRecord {
  return { text, truncatedBytes: 0, invalidUtf8: false, unterminated: false, at: AT, ...overrides };
}

export function ending(overrides: Partial<EngineEnding> = {}): EngineEnding {
  return { cause: 'exited', exitCode: 0, signal: null, stderrTail: '', at: AT, ...overrides };
}

export interface Replay {
  readonly events: readonly NewEvent[];
  readonly result: ExecutionResult;
  /** Codes for which the translator wanted the engine stopped, in order. */
  readonly stops: readonly string[];
}

/** Gives the records to the translator, then the ending; every event is checked against its schema. */
export function replay(
  translator: EngineTranslator,
  records: readonly (EngineRecord | string | object)[],
  end: EngineEnding = ending(),
): Replay {
  const events: NewEvent[] = [];
  const stops: string[] = [];
  for (const item of records) {
    const translation = translator.onRecord(asRecord(item));
    events.push(...translation.events);
    const stop = translation.violation ?? translation.budgetExhausted;
    if (stop) stops.push(stop.code);
  }
  const concluded = translator.conclude(end);
  events.push(...concluded.events);
  for (const event of events) assertValid(event);
  return { events, result: concluded.result, stops };
}

function asRecord(item: EngineRecord | string | object): EngineRecord {
  if (typeof item === 'string') return record(item);
  return 'truncatedBytes' in item ? (item as EngineRecord) : record(JSON.stringify(item));
}

/** @throws when an event does not fit the contract, its payload included */
export function assertValid(event: NewEvent): void {
  newEventSchema.parse(event);
  if (event.source !== 'platform') return;
  const spec = PLATFORM_EVENTS[event.eventType as PlatformEventType];
  if (spec === undefined) throw new TypeError(`no platform event ${event.eventType}`);
  spec.payload.parse(event.payload);
}

export function payloadsOf<T extends PlatformEventType>(
  events: readonly NewEvent[],
  type: T,
): PlatformEventPayload<T>[] {
  return events
    .filter((event) => event.source === 'platform' && event.eventType === type)
    .map(({ payload }) => payload as PlatformEventPayload<T>);
}
