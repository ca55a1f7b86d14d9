import {
  functionCall,
  httpError,
  type ModelStep,
  message,
  respond,
  runCommand,
  say,
} from './model-step.ts';

/** What the model does next, from the results of its tool calls so far. */
type Scenario = (results: readonly string[]) => ModelStep;

/** Longest wait for a command in one call; engines allow no more. */
const LONGEST_YIELD_MS = 30_000;
const MANY = 20;

/**
 * Situations that tests and demonstrations ask for, with `[[scenario:<name>]]` anywhere in the prompt. Only the
 * scripted model knows them; to any other model the marker is text.
 */
export const SCENARIOS = {
  /** Ten minutes of one line a second. */
  'long-command': once(
    'i=0; while [ $i -lt 600 ]; do i=$((i+1)); echo "tick $i"; sleep 1; done; echo end',
  ),
  /** A command and a child in a session of its own, both deaf to polite signals. */
  'ignore-signals': once(
    `trap '' INT TERM HUP; (setsid sh -c 'exec sleep 600' || sleep 600) & echo started; sleep 600`,
  ),
  /** Two seconds of thought before each of three answers. */
  slow: (results) =>
    results.length < 2
      ? { ...respond([runCommand(`echo step ${results.length + 1}`)]), delayMs: 2_000 }
      : { ...say('done, slowly'), delayMs: 2_000 },
  'many-commands': (results) =>
    results.length < MANY ? respond([runCommand(`echo ${results.length + 1}`)]) : say('done'),
  /** Two megabytes from one command. */
  'big-output': once('yes 0123456789abcdef | head -c 2000000'),
  /** What a command can see of the environment. */
  'print-env': once('env | sort'),
  /** A command that fails, after which the model gives up in words. */
  'failing-command': once('echo "this goes wrong" >&2; exit 3'),
  /** The connection breaks in the middle of every answer. */
  'fail-cut': () => ({ kind: 'cut', items: [message('this answer breaks off')] }),
  'fail-http-400': () =>
    httpError(400, { message: 'scripted refusal', type: 'invalid_request_error' }),
  'fail-http-401': () => httpError(401, { message: 'Incorrect API key provided' }),
  'fail-http-404': () =>
    httpError(404, { message: 'The model does not exist', code: 'model_not_found' }),
  'fail-http-429': () => httpError(429, { message: 'scripted rate limit' }),
  'fail-http-500': () => httpError(500, { message: 'scripted server error' }),
  'fail-context': () => ({
    kind: 'failed',
    code: 'context_length_exceeded',
    message: 'scripted: too long',
  }),
  /** Begins to answer and falls silent. */
  hang: () => ({ kind: 'hang' }),
  /** Answers with nothing. */
  empty: () => respond([]),
} as const satisfies Record<string, Scenario>;

/** The scenario that a prompt asks for; one that does not exist is answered with the list of those that do. */
export function scenarioOf(prompt: string): Scenario | undefined {
  const name = /\[\[scenario:([a-z0-9-]+)\]\]/.exec(prompt)?.[1];
  if (name === undefined) return undefined;
  const scenarios: Readonly<Record<string, Scenario>> = SCENARIOS;
  if (Object.hasOwn(scenarios, name)) return scenarios[name];
  return () => say(`there is no scenario "${name}"; known: ${Object.keys(SCENARIOS).join(', ')}`);
}

/** One command, waited for to its end however long it takes, then a last word. */
function once(command: string): Scenario {
  return (results) => {
    if (results.length === 0) {
      return respond([runCommand(command, { yieldTimeMs: LONGEST_YIELD_MS })]);
    }
    const session = /\bsession ID (\d+)/.exec(results.at(-1) ?? '')?.[1];
    if (session === undefined) return say('the command is over');
    return respond([
      functionCall('write_stdin', {
        session_id: Number(session),
        chars: '',
        yield_time_ms: LONGEST_YIELD_MS,
      }),
    ]);
  };
}
