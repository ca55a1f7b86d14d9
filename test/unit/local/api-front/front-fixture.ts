import type { Writable } from 'node:stream';
import type { APIGatewayProxyEvent, Context } from 'aws-lambda';
import { onTestFinished } from 'vitest';
import { type ApiFrontOptions, type ApiRoute, startApiFront } from '#local/api-front/index.ts';
import { inProcess, type LambdaHandler, type LambdaInvoker } from '#local/lambda/index.ts';

export interface AwsLambda {
  streamifyResponse(handler: LambdaHandler): LambdaHandler;
  HttpResponseStream: { from(stream: Writable, metadata: unknown): Writable };
}
export const awslambda = () => (globalThis as unknown as { awslambda: AwsLambda }).awslambda;

export const functionOf = (
  handler: (event: APIGatewayProxyEvent, context: Context) => unknown,
): LambdaInvoker =>
  inProcess({ name: 'api/test', timeoutMs: 5_000, load: async () => handler, onError: () => {} });

export const streamingFunctionOf = (
  handler: (event: APIGatewayProxyEvent, stream: Writable) => Promise<void>,
): LambdaInvoker =>
  inProcess({
    name: 'api/stream',
    timeoutMs: 60_000,
    load: async () => awslambda().streamifyResponse(handler),
    onError: () => {},
  });

/** Answers with the event it got. */
export const echo = functionOf((event) => ({ statusCode: 200, body: JSON.stringify(event) }));

export async function startFront(
  routes: readonly ApiRoute[],
  options: Partial<ApiFrontOptions> = {},
): Promise<string> {
  const front = await startApiFront({ routes, authorizers: {}, ...options });
  onTestFinished(() => front.close());
  return front.url;
}
