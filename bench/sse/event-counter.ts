import { type Agent, get } from 'node:http';

export interface Followed {
  /** Of the whole run, and from the first piece of typed text on. */
  readonly events: number;
  readonly burst: number;
  /** When the first piece of typed text and the last event came, by `performance.now()`. */
  readonly firstAt: number;
  readonly lastAt: number;
}

export interface Follower {
  /** The stream is open: its first bytes are here. */
  readonly opened: Promise<void>;
  /** The server has closed it behind the final event. Rejects when it is cut. */
  readonly ended: Promise<Followed>;
  leave(): void;
}

const MARK = Buffer.from('\nevent: ');
/** Starts the clock: the first event of the burst, not of the run. */
const BURST = Buffer.from('\nevent: message.delta');

/** Follows a run and only counts, so that the server is measured and not its client. */
export function followRun(url: string, token: string, agent: Agent): Follower {
  const opened = Promise.withResolvers<void>();
  const ended = Promise.withResolvers<Followed>();
  let events = 0;
  let before = 0;
  let firstAt = Number.NaN;
  let lastAt = 0;
  let rest: Buffer = Buffer.alloc(0);
  const take = (chunk: Buffer) => {
    opened.resolve();
    const text = Buffer.concat([rest, chunk]);
    let taken = 0;
    for (let at = text.indexOf(MARK); at >= 0; at = text.indexOf(MARK, taken)) {
      // Enough of the line must be here to tell what it is.
      if (at + BURST.length > text.length) break;
      taken = at + MARK.length;
      if (Number.isNaN(firstAt) && text.subarray(at, at + BURST.length).equals(BURST)) {
        firstAt = performance.now();
        before = events;
      }
      events += 1;
      lastAt = performance.now();
    }
    rest = text.subarray(Math.max(taken, text.length - BURST.length + 1));
  };
  const request = get(url, { agent, headers: { authorization: `Bearer ${token}` } }, (response) => {
    if (response.statusCode !== 200) {
      request.destroy(new Error(`the stream was refused: ${response.statusCode}`));
      return;
    }
    response.on('data', take);
    response.on('end', () => ended.resolve({ events, burst: events - before, firstAt, lastAt }));
    response.on('error', ended.reject);
  });
  request.on('error', (error) => {
    opened.reject(error);
    ended.reject(error);
  });
  ended.promise.catch(() => {});
  opened.promise.catch(() => {});
  return {
    opened: opened.promise,
    ended: ended.promise,
    leave: () => void request.destroy(),
  };
}
