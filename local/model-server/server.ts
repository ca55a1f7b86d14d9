import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { listen } from '#local/http/listen.ts';
import { type ModelRequest, parseModelRequest } from './model-request.ts';
import type { ModelStep } from './model-step.ts';
import { writeStep } from './write-step.ts';

/** One request the model was asked to answer, as it came. */
export interface RecordedRequest {
  readonly headers: IncomingHttpHeaders;
  readonly body: ModelRequest;
}

export interface StepContext {
  /** Counts this server's requests from 0. Scripts that serve several runs at once must not depend on it. */
  readonly turn: number;
  readonly headers: IncomingHttpHeaders;
}

export type ScriptFunction = (
  request: ModelRequest,
  context: StepContext,
) => ModelStep | Promise<ModelStep>;

/** A list is consumed one step a request, its last step for ever; a function decides each time. */
export type ModelScript = readonly ModelStep[] | ScriptFunction;

export interface ScriptedModelServerOptions {
  readonly script: ModelScript;
  /** 0 or left out: any free port. */
  readonly port?: number;
  readonly host?: string;
  /** When given, requests without `Authorization: Bearer <apiKey>` are answered 401. */
  readonly apiKey?: string;
  readonly onRequest?: (request: RecordedRequest) => void;
}

export interface ScriptedModelServer {
  readonly url: string;
  /** What an engine is configured with: `url` and the API's version. */
  readonly baseUrl: string;
  /** The newest requests, oldest first, at most {@link KEPT_REQUESTS}. */
  readonly requests: readonly RecordedRequest[];
  close(): Promise<void>;
}

/** A server of the local stack lives for days; tests look at a few requests. */
export const KEPT_REQUESTS = 200;
const MAX_BODY_BYTES = 64 * 1024 * 1024;

/**
 * A model that says what a script tells it to, over the Responses API, on the loopback interface. It needs no
 * network, no account and no model: engines run against it in tests, demonstrations and offline.
 */
export async function startScriptedModelServer(
  options: ScriptedModelServerOptions,
): Promise<ScriptedModelServer> {
  const requests: RecordedRequest[] = [];
  let turn = 0;

  const answerModelCall = async (request: IncomingMessage, response: ServerResponse) => {
    const body = parseModelRequest(await readBody(request));
    if (body === undefined) {
      sendJson(
        response,
        400,
        apiError('the request body is not a JSON object', 'invalid_request_error'),
      );
      return;
    }
    const recorded: RecordedRequest = { headers: request.headers, body };
    requests.push(recorded);
    if (requests.length > KEPT_REQUESTS) requests.shift();
    options.onRequest?.(recorded);
    if (
      options.apiKey !== undefined &&
      request.headers.authorization !== `Bearer ${options.apiKey}`
    ) {
      sendJson(response, 401, apiError('Incorrect API key provided', 'invalid_api_key'));
      return;
    }
    const step = await nextStep(options.script, body, { turn: turn++, headers: request.headers });
    await writeStep(response, body, step);
  };

  const server = createServer((request, response) => {
    route(request, response, answerModelCall).catch((error: unknown) => {
      // The client hanging up is part of many scripts; anything else must not be silent.
      if (!response.headersSent && !response.destroyed) {
        sendJson(response, 500, apiError(`offline model: ${String(error)}`, 'script_error'));
      } else response.destroy();
    });
  });
  const { url, close } = await listen(server, options);
  return {
    url,
    baseUrl: `${url}/v1`,
    requests,
    close,
  };
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  answerModelCall: (request: IncomingMessage, response: ServerResponse) => Promise<void>,
): Promise<void> {
  const path = (request.url ?? '/').split('?')[0];
  if (request.method === 'POST' && path === '/v1/responses') {
    await answerModelCall(request, response);
  } else if (request.method === 'GET' && path === '/v1/models') {
    sendJson(response, 200, { object: 'list', data: [] });
  } else if (request.method === 'GET' && path === '/') {
    sendJson(response, 200, { model: 'offline scripted model' });
  } else {
    sendJson(response, 404, apiError(`no ${request.method} ${path} here`, 'not_found'));
  }
}

function nextStep(
  script: ModelScript,
  request: ModelRequest,
  context: StepContext,
): ModelStep | Promise<ModelStep> {
  if (typeof script === 'function') return script(request, context);
  const step = script[Math.min(context.turn, script.length - 1)];
  if (step === undefined) throw new TypeError('the script has no steps');
  return step;
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > MAX_BODY_BYTES) throw new RangeError('request body over 64 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function apiError(message: string, code: string) {
  return { error: { message, type: 'invalid_request_error', code } };
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}
