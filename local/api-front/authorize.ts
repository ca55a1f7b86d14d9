import type { LambdaInvoker } from '#local/lambda/index.ts';
import type { Refusal } from './problem.ts';
import { type ApiPlace, type RoutedRequest, toAuthorizerEvent } from './proxy-event.ts';

export type Authorization =
  | {
      readonly kind: 'allowed';
      /** `requestContext.authorizer` of the function's event. */
      readonly context: Readonly<Record<string, unknown>>;
    }
  | { readonly kind: 'refused'; readonly refusal: Refusal };

interface Statement {
  readonly Effect?: unknown;
  readonly Action?: unknown;
  readonly Resource?: unknown;
}

const UNAUTHENTICATED: Refusal = {
  code: 'unauthenticated',
  headers: { 'www-authenticate': 'Bearer' },
};

/**
 * Asks a REQUEST authorizer whose identity source is the Authorization header: without it nobody is asked. The
 * answer is an IAM policy. It is asked for each request; caching is left to the real gateway.
 */
export async function authorize(
  authorizer: LambdaInvoker,
  request: RoutedRequest,
  place: ApiPlace,
): Promise<Authorization> {
  const refused = (refusal: Refusal): Authorization => ({ kind: 'refused', refusal });
  if (!request.message.headers.authorization) return refused(UNAUTHENTICATED);
  const event = toAuthorizerEvent(request, place);
  const askedAtMs = Date.now();
  const outcome = await authorizer.invoke(event);
  if (outcome.status === 'error') {
    // The one message that means "who are you"; any other error is the authorizer's own.
    const anonymous = outcome.error.errorMessage === 'Unauthorized';
    return refused(anonymous ? UNAUTHENTICATED : { code: 'internal' });
  }
  const answer = readAnswer(outcome.payload);
  if (!answer) {
    console.error(`api: ${authorizer.name} answered what is no policy or has an invalid context`);
    return refused({ code: 'internal' });
  }
  if (!allows(answer.statements, event.methodArn)) return refused({ code: 'forbidden' });
  const integrationLatency = Date.now() - askedAtMs;
  const { principalId, context } = answer;
  return { kind: 'allowed', context: { ...context, principalId, integrationLatency } };
}

function readAnswer(payload: string):
  | {
      principalId: string;
      statements: readonly Statement[];
      context: Readonly<Record<string, string | null>>;
    }
  | undefined {
  const answer = JSON.parse(payload) as {
    principalId?: unknown;
    policyDocument?: { Statement?: unknown };
    context?: unknown;
  } | null;
  const statements = answer?.policyDocument?.Statement;
  if (typeof answer?.principalId !== 'string' || !statements) return undefined;
  const context = toStrings(answer.context ?? {});
  if (!context) return undefined;
  return {
    principalId: answer.principalId,
    statements: [statements].flat() as Statement[],
    context,
  };
}

/** Numbers and booleans arrive at the function as text; an object or a list makes the whole answer invalid. */
function toStrings(context: object): Record<string, string | null> | undefined {
  const entries = Object.entries(context) as [string, unknown][];
  if (entries.some(([, value]) => typeof value === 'object' && value !== null)) return undefined;
  return Object.fromEntries(
    entries.map(([name, value]) => [name, value === null ? null : String(value)]),
  );
}

/** IAM's rule: something must allow it, and nothing may deny it. */
export function allows(statements: readonly Statement[], methodArn: string): boolean {
  const matching = statements.filter(
    ({ Action, Resource }) =>
      listOf(Action).some((action) => matches(action.toLowerCase(), 'execute-api:invoke')) &&
      listOf(Resource).some((resource) => matches(resource, methodArn)),
  );
  return (
    matching.some(({ Effect }) => Effect === 'Allow') &&
    !matching.some(({ Effect }) => Effect === 'Deny')
  );
}

const listOf = (value: unknown): string[] =>
  [value].flat().filter((item): item is string => typeof item === 'string');

function matches(pattern: string, text: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replace(/\*/g, '.*')
    .replace(/\?/g, '.');
  return new RegExp(`^${source}$`, 's').test(text);
}
