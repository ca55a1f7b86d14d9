import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';

/** The same plain client for every party, so that its cost is the same. */
const agent = new Agent({ keepAlive: true, maxSockets: 64 });

export interface Call {
  readonly url: string;
  readonly method?: string;
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Limit for a whole answer; default 60 s. */
  readonly timeoutMs?: number;
}

/** @throws Error for an answer that is not 2xx, with its text */
export async function send(call: Call): Promise<unknown> {
  const response = await open(call);
  const text = await readText(response);
  if ((response.statusCode ?? 0) >= 300) {
    throw new Error(`${call.url}: ${response.statusCode} ${text.slice(0, 300)}`);
  }
  return text.startsWith('{') || text.startsWith('[') ? JSON.parse(text) : text;
}

export interface SseFrame {
  readonly event: string;
  readonly data: string;
  /** When its last byte had come, in milliseconds of `performance.now()`. */
  readonly atMs: number;
}

/** Reads an event stream until it ends or `onFrame` answers `'stop'`. Frames without data (comments) are passed over. */
export async function readStream(
  call: Call,
  onFrame: (frame: SseFrame) => 'stop' | undefined,
): Promise<void> {
  const response = await open({
    ...call,
    headers: { accept: 'text/event-stream', ...call.headers },
  });
  response.setEncoding('utf8');
  let rest = '';
  for await (const chunk of response) {
    const atMs = performance.now();
    const frames = (rest + String(chunk)).replaceAll('\r\n', '\n').split('\n\n');
    rest = frames.pop() ?? '';
    for (const text of frames) {
      const frame = parseFrame(text, atMs);
      if (frame && onFrame(frame) === 'stop') return;
    }
  }
}

function parseFrame(text: string, atMs: number): SseFrame | undefined {
  let event = 'message';
  let data = '';
  for (const line of text.split('\n')) {
    if (line.startsWith('data:')) data += line.slice(5).trimStart();
    else if (line.startsWith('event:')) event = line.slice(6).trim();
  }
  return data ? { event, data, atMs } : undefined;
}

function open(call: Call): Promise<IncomingMessage> {
  const body = call.body === undefined ? undefined : JSON.stringify(call.body);
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      call.url,
      {
        agent,
        method: call.method ?? (body === undefined ? 'GET' : 'POST'),
        timeout: call.timeoutMs ?? 60_000,
        headers: {
          ...(body === undefined
            ? {}
            : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
          ...call.headers,
        },
      },
      resolve,
    );
    request.on('timeout', () => request.destroy(new Error(`${call.url}: no answer in time`)));
    request.on('error', reject);
    request.end(body);
  });
}

async function readText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}
