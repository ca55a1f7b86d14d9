import {
  type AgentEvent,
  isFinalEventType,
  isTerminal,
  PLATFORM_EVENTS,
  type PlatformEventType,
  type RunView,
} from '#shared/contracts/index.ts';
import { lenient } from '../lenient-schema.ts';
import { plainLine } from './terminal-text.ts';
import { elapsedText, painter } from './timeline-format.ts';
import { type RunOutcome, renderEvent, renderOutcome, type Scene } from './timeline-renderers.ts';

export interface TimelineOptions {
  /** Takes one finished line, without its line feed. */
  readonly write: (line: string) => void;
  readonly color: boolean;
  /** Where elapsed time counts from, in milliseconds since the epoch; left out: the first event's time. */
  readonly startedAtMs?: number;
}

export interface Timeline {
  /** Shows one event. Events come in the order of their sequence numbers. */
  event(event: AgentEvent): void;
  /** Shows how the run ended, unless its final event did, and closes the timeline. */
  finish(run: RunView): void;
}

/**
 * Turns a run's events into lines for people. Everything that came from outside is made harmless for a terminal.
 * Holds no clock: the same events always give the same lines.
 */
export function createTimeline({ write, color, startedAtMs }: TimelineOptions): Timeline {
  const scene: Scene = {
    paint: painter(color),
    line(symbol, format, text) {
      const [first = '', ...rest] = text.split('\n');
      const head = `${scene.paint('dim', elapsedText(scene.atMs - scene.startedAtMs))} `;
      write(`${head}${scene.paint(format, symbol)} ${first}`);
      for (const more of rest) write(`${' '.repeat(INDENT)}${more}`);
    },
    startedAtMs: startedAtMs ?? Number.NaN,
    atMs: startedAtMs ?? 0,
    openTools: new Map(),
    openMessages: new Map(),
    offline: false,
    outcomeShown: false,
  };
  return {
    event(event) {
      advance(scene, event.timestamp);
      // The engine's own events repeat what the platform's say; they are for programs.
      if (event.source === 'engine_native') return;
      if (
        isPlatformType(event.eventType) &&
        renderEvent(scene, event.eventType, payloadOf(event))
      ) {
        return;
      }
      scene.line('·', 'dim', scene.paint('dim', plainLine(event.eventType)));
      if (isFinalEventType(event.eventType)) scene.outcomeShown = true;
    },
    finish(run) {
      if (scene.outcomeShown || !isTerminal(run.status)) return;
      if (run.endedAt !== undefined) advance(scene, run.endedAt);
      const { status, usage, error, processTree } = run;
      const outcome: RunOutcome = { status, usage, error, processTree };
      renderOutcome(scene, outcome);
    },
  };
}

/** Width of `mm:ss.t`, the symbol and the blanks around it. */
const INDENT = 10;

function advance(scene: Scene, timestamp: string): void {
  const atMs = Date.parse(timestamp);
  if (Number.isNaN(atMs)) return;
  if (Number.isNaN(scene.startedAtMs)) scene.startedAtMs = atMs;
  scene.atMs = atMs;
}

function isPlatformType(eventType: string): eventType is PlatformEventType {
  return Object.hasOwn(PLATFORM_EVENTS, eventType);
}

const schemas = new Map<PlatformEventType, ReturnType<typeof lenientPayload>>();

function lenientPayload(eventType: PlatformEventType) {
  return lenient(PLATFORM_EVENTS[eventType].payload);
}

/** The payload by its schema, read as a client reads; undefined when it is of a kind this version does not know. */
function payloadOf(event: AgentEvent): unknown {
  const eventType = event.eventType as PlatformEventType;
  const schema = schemas.get(eventType) ?? lenientPayload(eventType);
  schemas.set(eventType, schema);
  const parsed = schema.safeParse(event.payload);
  return parsed.success ? parsed.data : undefined;
}
