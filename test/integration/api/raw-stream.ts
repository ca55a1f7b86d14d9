import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request } from 'node:http';
import { createParser, type EventSourceMessage } from 'eventsource-parser';
import type { AgentEvent } from '#shared/contracts/index.ts';

/** An SSE connection with nothing between the test and the socket: no repeats dropped, no gaps filled, no resuming. */
export interface RawStream {
  readonly response: IncomingMessage;
  readonly headers: IncomingMessage['headers'];
  /** Whole messages so far. */
  readonly messages: EventSourceMessage[];
  readonly events: AgentEvent[];
  /** Everything so far, as it came. */
  readonly text: () => string;
  /** `retry` fields so far. */
  readonly retries: number[];
  /** How the connection ended: in good order, or cut. */
  readonly ended: Promise<'end' | 'cut'>;
  /** Reads on until it is true, asked whenever something came; false when the connection ended before. */
  until(isEnough: () => boolean): Promise<boolean>;
  /** Cuts the connection where it is. */
  leave(): void;
}

export interface OpenRaw {
  readonly url: string;
  readonly token: string;
  readonly runId: string;
  readonly lastEventId?: string | undefined;
  readonly cursor?: string;
  /** Left out: takes whatever comes. Else the response is left alone until the test reads it. */
  readonly paused?: boolean;
}

export async function openRaw(options: OpenRaw): Promise<RawStream> {
  const { outgoing, response } = await connect(options);
  if (response.statusCode !== 200)
    throw new Error(`the stream was refused: ${response.statusCode}`);
  const state = { text: '', messages: [] as EventSourceMessage[], retries: [] as number[] };
  const watchers = new Set<() => void>();
  const changed = () => {
    for (const watcher of watchers) watcher();
  };
  const parser = createParser({
    onEvent: (message) => state.messages.push(message),
    onRetry: (ms) => state.retries.push(ms),
  });
  const decoder = new TextDecoder();
  if (!options.paused) {
    response.on('data', (chunk: Buffer) => {
      const text = decoder.decode(chunk, { stream: true });
      state.text += text;
      parser.feed(text);
      changed();
    });
  }
  let over: 'end' | 'cut' | undefined;
  const ended = new Promise<'end' | 'cut'>((resolve) => {
    const end = (how: 'end' | 'cut') => {
      over ??= how;
      resolve(over);
      changed();
    };
    response.once('end', () => end('end'));
    response.once('error', () => end('cut'));
    response.once('close', () => end('cut'));
  });
  return {
    response,
    headers: response.headers,
    messages: state.messages,
    get events() {
      return state.messages.map(({ data }) => JSON.parse(data) as AgentEvent);
    },
    text: () => state.text,
    retries: state.retries,
    ended,
    until(isEnough) {
      return new Promise((resolve) => {
        const look = () => {
          if (!isEnough() && !over) return;
          watchers.delete(look);
          resolve(isEnough());
        };
        watchers.add(look);
        look();
      });
    },
    leave: () => outgoing.destroy(),
  };
}

async function connect(
  options: OpenRaw,
): Promise<{ outgoing: ClientRequest; response: IncomingMessage }> {
  const url = new URL(`${options.url}/v1/runs/${options.runId}/stream`);
  if (options.cursor !== undefined) url.searchParams.set('cursor', options.cursor);
  const { lastEventId } = options;
  const outgoing = request(url, {
    agent: false,
    headers: {
      authorization: `Bearer ${options.token}`,
      accept: 'text/event-stream',
      ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
    },
  });
  outgoing.end();
  const [response] = (await once(outgoing, 'response')) as [IncomingMessage];
  outgoing.on('error', () => {});
  return { outgoing, response };
}

/** The whole answer to a request for a stream that is refused. */
export async function refusedStream(options: OpenRaw): Promise<Record<string, unknown>> {
  const { response } = await connect(options);
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return JSON.parse(Buffer.concat(chunks).toString('utf8')) as Record<string, unknown>;
}
