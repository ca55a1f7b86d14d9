import { randomUUID } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import type { LambdaInvoker } from './invoker.ts';

const INVOCATION = /^\/2015-03-31\/functions\/([^/?]+)\/invocations(\?|$)/;

/**
 * Lambda's own `Invoke`, for the functions that `find` knows: `aws lambda invoke --endpoint-url …` works as in the
 * cloud. Waits for the answer; there is no asynchronous invocation. Answers false for what is no invocation.
 */
export function lambdaInvokeApi(
  find: (functionName: string) => LambdaInvoker | undefined,
): (request: IncomingMessage, response: ServerResponse) => boolean {
  return (request, response) => {
    const name = INVOCATION.exec(request.url ?? '')?.[1];
    if (request.method !== 'POST' || name === undefined) return false;
    void answer(find(decodeURIComponent(name)), request, response);
    return true;
  };
}

async function answer(
  invoker: LambdaInvoker | undefined,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const send = (status: number, body: string, headers: Record<string, string> = {}) =>
    response
      .writeHead(status, {
        'content-type': 'application/json',
        'x-amzn-requestid': randomUUID(),
        ...headers,
      })
      .end(body);
  const refuse = (status: number, type: string, message: string) =>
    send(status, JSON.stringify({ Type: 'User', Message: message }), { 'x-amzn-errortype': type });
  try {
    if (!invoker) return void refuse(404, 'ResourceNotFoundException', 'Function not found');
    const body = await text(request);
    let event: unknown;
    try {
      event = JSON.parse(body || '{}');
    } catch {
      return void refuse(400, 'InvalidRequestContentException', 'Could not parse request body');
    }
    const outcome = await invoker.invoke(event);
    if (outcome.status === 'ok') send(200, outcome.payload);
    else send(200, JSON.stringify(outcome.error), { 'x-amz-function-error': 'Unhandled' });
  } catch (error) {
    response.destroy(error as Error);
  }
}
