import { publicReason } from './public-reason.ts';

/**
 * What it means when RunTask makes no task. `rejected`: asking again cannot help, the run fails. `no_room`: asking
 * later will help; the run waits, and its attempt does not count, because there was none. `unsure`: a task may have
 * been made although no answer came; it is looked for by its name before anything is said.
 */
export const LAUNCH_ANSWERS = {
  rejected: 'The run fails with `launch_failed`, naming the answer.',
  no_room: 'The run waits with a growing delay until its deadline; no attempt is used up.',
  unsure:
    'The task is looked for by its name and adopted; otherwise the message comes again, as the same attempt.',
} as const;
export type LaunchAnswer = keyof typeof LAUNCH_ANSWERS;

/** First match wins, on `name: message` of an exception. Rendered into `docs/task-stops.md`. */
export const LAUNCH_EXCEPTIONS: readonly {
  readonly says: RegExp;
  readonly answer: LaunchAnswer;
}[] = [
  // Quotas of the account, limits of ECS and of what it calls; some come as ClientException or InvalidParameter.
  {
    says: /limit.*(exceeded|tasks|vcpus|concurrently)|Limit\w*Exceeded|Rate exceeded|Throttl|Too ?Many ?Requests|capacity is unavailable|(insufficient|no) capacity/i,
    answer: 'no_room',
  },
  {
    says: /^(InvalidParameter|Client|ClusterNotFound|AccessDenied|UnsupportedFeature|Blocked|Platform\w+|UnrecognizedClient|InvalidSignature)\w*:/,
    answer: 'rejected',
  },
  // Server faults, timeouts, broken connections, expired credentials: everything else.
  { says: /^/, answer: 'unsure' },
];

/** First match wins, on `reason` of an entry of `failures[]` in an answer with status 200. */
export const LAUNCH_FAILURES: readonly { readonly says: RegExp; readonly answer: LaunchAnswer }[] =
  [
    { says: /^(MISSING|INACTIVE|ACCESS_?DENIED)/i, answer: 'rejected' },
    // `RESOURCE:*`, `AGENT`, "Capacity is unavailable at this time", and what is not known.
    { says: /^/, answer: 'no_room' },
  ];

export function answerOfException(error: unknown): LaunchAnswer {
  const { name = 'Error', message = '' } = (error ?? {}) as { name?: string; message?: string };
  return answerOf(LAUNCH_EXCEPTIONS, `${name}: ${message}`);
}

export function answerOfFailure(reason: string | undefined): LaunchAnswer {
  return answerOf(LAUNCH_FAILURES, reason ?? '');
}

function answerOf(rules: typeof LAUNCH_EXCEPTIONS, text: string): LaunchAnswer {
  return rules.find(({ says }) => says.test(text))?.answer ?? 'unsure';
}

/** B83: an error of the control plane with all that finds it again: name, HTTP status, request id. */
export function describeFault(error: unknown): string {
  const { name, message, $metadata } = (error ?? {}) as {
    name?: string;
    message?: string;
    $metadata?: { httpStatusCode?: number; requestId?: string };
  };
  const facts = [
    $metadata?.httpStatusCode && `HTTP ${$metadata.httpStatusCode}`,
    $metadata?.requestId && `request ${$metadata.requestId}`,
  ].filter(Boolean);
  return publicReason(
    `${name ?? 'Error'}${facts.length ? ` (${facts.join(', ')})` : ''}: ${message ?? String(error)}`,
  ).slice(0, 400);
}
