import {
  type AgentEvent,
  agentEventSchema,
  CAPABILITIES,
  type EngineView,
  type ExecutionHandle,
  PLATFORM_EVENTS,
  type PlatformEventPayload,
  type PlatformEventType,
  type RunView,
} from '#shared/contracts/index.ts';

export const RUN_ID = 'run_01JDZZZZZZZZZZZZZZZZZZZZZZ';
export const ENGINE = { engineId: 'acme', protocolId: 'pipe', adapterVersion: 'v1' };
export const T0 = Date.parse('2026-11-30T12:00:00.000Z');

export const at = (ms: number) => new Date(T0 + ms).toISOString();

/** A platform event of the run, stamped `atMs` after the start (default: its sequence number in seconds). */
export function event<T extends PlatformEventType>(
  sequence: number,
  eventType: T,
  payload: PlatformEventPayload<T>,
  atMs = sequence * 1000,
): AgentEvent {
  return agentEventSchema.parse({
    eventId: `${RUN_ID}.${sequence}`,
    schemaVersion: '1',
    executionId: RUN_ID,
    sequence,
    traceId: 'a'.repeat(32),
    eventType,
    source: 'platform',
    family: PLATFORM_EVENTS[eventType].family,
    timestamp: at(atMs),
    engineSessionId: null,
    payload,
  });
}

export const message = (sequence: number, text: string) =>
  event(sequence, 'message.completed', { messageId: `m${sequence}`, role: 'assistant', text });

/** Events 1 to `count`: messages, and the last one ends the run well. */
export function story(count: number): AgentEvent[] {
  const events = Array.from({ length: count - 1 }, (_, index) =>
    message(index + 1, `text ${index + 1}`),
  );
  return [...events, event(count, 'run.completed', { usage: { outputTokens: 7 } })];
}

export const handle: ExecutionHandle = {
  schemaVersion: '1',
  executionId: RUN_ID,
  engine: ENGINE,
  acceptedAt: at(0),
  links: {
    self: `/v1/runs/${RUN_ID}`,
    events: `/v1/runs/${RUN_ID}/events`,
    stream: `/v1/runs/${RUN_ID}/stream`,
    cancel: `/v1/runs/${RUN_ID}/cancel`,
  },
};

export function runView(overrides: Partial<RunView> = {}): RunView {
  return {
    runId: RUN_ID,
    status: 'running',
    engine: ENGINE,
    attempt: 1,
    createdAt: at(0),
    priority: 'normal',
    deadlineAt: at(1_800_000),
    usage: {},
    attempts: [],
    ...overrides,
  };
}

export function runSummary(overrides: Partial<RunView> = {}) {
  const { runId, status, engine, attempt, createdAt, startedAt, endedAt } = runView(overrides);
  return { runId, status, engine, attempt, createdAt, startedAt, endedAt };
}

const flags = (on: boolean) =>
  Object.fromEntries(CAPABILITIES.map((name) => [name, on])) as EngineView['declared'];

export function engineView(overrides: Partial<EngineView> = {}): EngineView {
  return {
    engine: ENGINE,
    displayName: 'Acme Agent',
    status: 'active',
    isDefaultProtocol: true,
    availability: 'available',
    reasons: [],
    supportedVersions: '>=1 <2',
    declared: { ...flags(true), human_approval: false },
    available: { ...flags(true), human_approval: false, session_resume: false },
    configSchema: {},
    ...overrides,
  };
}

/** As the API writes it: an opaque cursor, the type, the event on one line. */
export function sse(agentEvent: AgentEvent): string {
  const { sequence, eventType } = agentEvent;
  return `id: c${sequence}\nevent: ${eventType}\ndata: ${JSON.stringify(agentEvent)}\n\n`;
}
