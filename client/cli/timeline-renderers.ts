import {
  type ExecutionError,
  type FINAL_EVENT_TYPES,
  type PlatformEventPayload,
  type PlatformEventType,
  type ProcessTree,
  type TerminalStatus,
  tripleName,
  type Usage,
} from '#shared/contracts/index.ts';
import { plainLine, plainText } from './terminal-text.ts';
import { errorLines, type Paint, processTreeText, tookText, usageText } from './timeline-format.ts';

/** What a timeline knows while it is told. */
export interface Scene {
  readonly paint: Paint;
  /** Writes a text at the present time; its later lines are indented. */
  readonly line: (symbol: string, format: Parameters<Paint>[0], text: string) => void;
  startedAtMs: number;
  /** Time of the event being shown. */
  atMs: number;
  /** Start of each tool call that has not ended. */
  readonly openTools: Map<string, number>;
  /** Text of each message that is being typed. */
  readonly openMessages: Map<string, string>;
  /** The answers come from a script, not from a model. */
  offline: boolean;
  outcomeShown: boolean;
}

export interface RunOutcome {
  readonly status: TerminalStatus;
  readonly usage: Usage;
  readonly error?: ExecutionError | undefined;
  readonly processTree?: ProcessTree | undefined;
}

type Payload<T extends PlatformEventType> = PlatformEventPayload<T>;
type Renderers = { readonly [T in PlatformEventType]: (scene: Scene, payload: Payload<T>) => void };

/** Enough of an unfinished message to see where it stopped, and of a failed command to see why. */
const MAX_TYPED_CHARS = 64 * 1024;
const OUTPUT_TAIL_LINES = 10;
/** How the platform's scripted model begins what it says, so that nobody takes it for an AI. */
const OFFLINE_MESSAGE = /^\[offline [a-z ]*model\]/;
const OFFLINE_LABEL = 'OFFLINE MODEL: scripted answers, no real model was asked';

const RENDERERS: Renderers = {
  'run.queued': (scene, { engine }) => scene.line('○', 'dim', `queued for ${tripleName(engine)}`),
  'run.started': (scene, { attempt, sandbox }) =>
    scene.line(
      '▶',
      'cyan',
      join('started', nth(attempt), sandbox && `sandbox ${plainLine(sandbox)}`),
    ),
  'run.cancel_requested': (scene, { reason, requestedBy }) =>
    scene.line(
      '■',
      'yellow',
      join(`cancellation requested by ${plainLine(requestedBy)}`, reason && plainLine(reason)),
    ),
  'run.requeued': (scene, { attempt, reason, error }) => {
    const why = error ? [`${error.code}: ${plainLine(error.message, 1_000)}`] : [];
    scene.line(
      '↻',
      'yellow',
      [join('queued again', nth(attempt), plainLine(reason)), ...why].join('\n'),
    );
  },
  'run.completed': (scene, { usage }) => renderOutcome(scene, { status: 'completed', usage }),
  'run.failed': (scene, payload) => renderOutcome(scene, { status: 'failed', ...payload }),
  'run.cancelled': (scene, payload) => renderOutcome(scene, { status: 'cancelled', ...payload }),
  'run.timed_out': (scene, payload) => renderOutcome(scene, { status: 'timed_out', ...payload }),
  'run.budget_exhausted': (scene, payload) =>
    renderOutcome(scene, { status: 'budget_exhausted', ...payload }),
  'engine.session.started': (scene, { nativeSessionId, engineVersion }) =>
    scene.line(
      '●',
      'cyan',
      join(
        'session',
        engineVersion && `engine ${plainLine(engineVersion)}`,
        plainLine(nativeSessionId),
      ),
    ),
  'engine.session.completed': (scene) =>
    scene.line('●', 'dim', scene.paint('dim', 'session ended')),
  'message.delta': (scene, { messageId, text }) => {
    const typed = (scene.openMessages.get(messageId) ?? '') + text;
    scene.openMessages.set(messageId, typed.slice(0, MAX_TYPED_CHARS));
  },
  'message.completed': renderMessage,
  'tool.started': (scene, { toolCallId, kind, name, summary }) => {
    scene.openTools.set(toolCallId, scene.atMs);
    scene.line(kind === 'command' ? '$' : '→', 'blue', toolText(kind, name, summary));
  },
  'tool.completed': renderToolEnd,
  'approval.required': (scene, { approvalId, summary }) =>
    scene.line(
      '?',
      'yellow',
      join(`approval needed: ${plainLine(summary)}`, plainLine(approvalId)),
    ),
  'approval.resolved': (scene, { approvalId, decision }) =>
    scene.line('?', 'yellow', join(`approval ${decision}`, plainLine(approvalId))),
  'input.required': (scene, { prompt }) =>
    scene.line('?', 'yellow', `input needed: ${plainText(prompt)}`),
  'artifact.created': (scene, { name, bytes }) =>
    scene.line(
      '◆',
      'magenta',
      join(`artifact ${plainLine(name)}`, `${bytes.toLocaleString('en-US')} bytes`),
    ),
  'usage.updated': (scene, { usage }) => {
    const text = usageText(usage);
    if (text) scene.line('Σ', 'dim', scene.paint('dim', text));
  },
  'execution.error': (scene, { error, recoverable }) =>
    scene.line(
      recoverable ? '!' : '✗',
      recoverable ? 'yellow' : 'red',
      errorLines(error).join('\n') + (recoverable ? ' (the run goes on)' : ''),
    ),
  'execution.diagnostic': renderDiagnostic,
  'events.lost': (scene, { reason, count, bytes }) =>
    scene.line(
      '!',
      'yellow',
      `${count === undefined ? `${bytes} bytes of output` : `${count} events`} lost (${plainLine(reason)})`,
    ),
  'host.state_changed': (scene, { state, cause }) =>
    scene.line(
      '·',
      'dim',
      scene.paint('dim', join(`host ${plainLine(state)}`, cause && plainLine(cause))),
    ),
  'mission.step': (scene, { title, status }) =>
    scene.line('▪', 'cyan', join(plainLine(title), plainLine(status))),
};

/** False when the payload is of a kind this version does not know. The payload has been parsed by its type's schema. */
export function renderEvent(scene: Scene, eventType: PlatformEventType, payload: unknown): boolean {
  if (payload === undefined) return false;
  (RENDERERS[eventType] as (scene: Scene, payload: unknown) => void)(scene, payload);
  return true;
}

const OUTCOMES = {
  completed: { symbol: '✓', format: 'green', words: 'completed' },
  failed: { symbol: '✗', format: 'red', words: 'failed' },
  cancelled: { symbol: '■', format: 'yellow', words: 'cancelled' },
  timed_out: { symbol: '✗', format: 'red', words: 'timed out' },
  budget_exhausted: { symbol: '✗', format: 'red', words: 'budget exhausted' },
} as const satisfies Record<keyof typeof FINAL_EVENT_TYPES, unknown>;

export function renderOutcome(scene: Scene, outcome: RunOutcome): void {
  const { status, usage, error, processTree } = outcome;
  if (scene.outcomeShown) return;
  scene.outcomeShown = true;
  for (const text of scene.openMessages.values()) {
    if (text.trim())
      scene.line('»', 'dim', `${plainText(text).trim()}\n${scene.paint('dim', '(unfinished)')}`);
  }
  const { symbol, format, words } = OUTCOMES[status];
  const took = Number.isNaN(scene.startedAtMs) ? 0 : Math.max(0, scene.atMs - scene.startedAtMs);
  const head = join(scene.paint([format, 'bold'], words), tookText(took), usageText(usage));
  const left = processTree ? [scene.paint('dim', processTreeText(processTree))] : [];
  scene.line(symbol, format, [head, ...(error ? errorLines(error) : []), ...left].join('\n'));
  if (scene.offline) scene.line('!', 'yellow', scene.paint('yellow', OFFLINE_LABEL));
}

function renderMessage(scene: Scene, payload: Payload<'message.completed'>): void {
  const typed = scene.openMessages.get(payload.messageId) ?? '';
  scene.openMessages.delete(payload.messageId);
  // Some engines end a message with an empty text although they have typed one.
  const text = plainText(payload.text || typed).trim();
  if (!text) return;
  const cut = payload.truncatedBytes ? [`(${payload.truncatedBytes} bytes more)`] : [];
  const dim = (line: string) => scene.paint('dim', line);
  if (payload.role === 'assistant') {
    // Such a message labels itself; what is added is the label of the outcome.
    if (OFFLINE_MESSAGE.test(text)) scene.offline = true;
    scene.line('»', 'green', [text, ...cut.map(dim)].join('\n'));
    return;
  }
  scene.line('∴', 'dim', [...text.split('\n'), ...cut].map(dim).join('\n'));
}

const CHANGE_SYMBOLS = { add: '+', update: '~', delete: '-' } as const;
const CHANGE_FORMATS = { add: 'green', update: 'yellow', delete: 'red' } as const;

function renderToolEnd(scene: Scene, payload: Payload<'tool.completed'>): void {
  const startedAtMs = scene.openTools.get(payload.toolCallId);
  scene.openTools.delete(payload.toolCallId);
  const good = payload.status === 'completed' && (payload.exitCode ?? 0) === 0;
  const text = join(
    toolText(payload.kind, payload.name, payload.summary),
    payload.status === 'completed' ? undefined : payload.status,
    payload.exitCode === undefined ? undefined : `exit ${payload.exitCode}`,
    startedAtMs === undefined ? undefined : tookText(Math.max(0, scene.atMs - startedAtMs)),
  );
  const changes = (payload.changes ?? []).map((change) =>
    scene.paint(
      CHANGE_FORMATS[change.kind],
      `${CHANGE_SYMBOLS[change.kind]} ${plainLine(change.path)}`,
    ),
  );
  const output = good ? [] : tail(payload.output ?? '').map((line) => scene.paint('dim', line));
  scene.line(good ? '✓' : '✗', good ? 'green' : 'red', [text, ...changes, ...output].join('\n'));
}

function renderDiagnostic(scene: Scene, { kind, message }: Payload<'execution.diagnostic'>): void {
  if (kind === 'host_notice' && saysOffline(message) && !scene.offline) {
    scene.offline = true;
    scene.line('!', 'yellow', scene.paint(['yellow', 'bold'], OFFLINE_LABEL));
  }
  const word = { stderr: 'stderr', undecodable_output: 'unreadable output' }[kind as string];
  const text = join(word, plainLine(message, 500));
  scene.line('·', 'dim', scene.paint('dim', text));
}

/** Of diagnostics, only the host's own notices are asked: engines and their tools may write whatever they like. */
function saysOffline(message: string): boolean {
  return /\boffline\b[\w -]{0,20}\bmodel\b|\boffline_model\b/i.test(message);
}

function toolText(kind: string, name: string, summary: string): string {
  const what = plainLine(summary);
  if (kind === 'command') return what || plainLine(name);
  return join(plainLine(name), what === plainLine(name) ? undefined : what);
}

function tail(output: string): string[] {
  const lines = plainText(output).trimEnd().split('\n').filter(Boolean);
  const shown = lines.slice(-OUTPUT_TAIL_LINES).map((line) => plainLine(line));
  return lines.length > shown.length
    ? [`… ${lines.length - shown.length} lines before`, ...shown]
    : shown;
}

function nth(attempt: number): string | undefined {
  return attempt > 1 ? `attempt ${attempt}` : undefined;
}

function join(...parts: readonly (string | undefined)[]): string {
  return parts.filter((part) => part).join(' · ');
}
