import { EventSourceParserStream } from 'eventsource-parser/stream';
import { type AgentEvent, agentEventSchema, isFinalEventType } from '#shared/contracts/index.ts';

/** What a follower without any cleverness has got so far. */
export interface RawFollowing {
  readonly events: AgentEvent[];
  /** `id` of the last message. */
  lastId: string | undefined;
}

/**
 * Reads one connection of a run's stream, as a browser's `EventSource` would: resumes behind the last id, and takes
 * everything that comes. The platform's own client mends repeats and gaps, so it cannot witness that there are none.
 * Resolves with true after the final event, with false when the connection ended before. Rejects when there was none.
 */
export async function readConnection(
  api: { url: string; token: string },
  runId: string,
  following: RawFollowing,
): Promise<boolean> {
  const { lastId, events } = following;
  const response = await fetch(`${api.url}/v1/runs/${runId}/stream`, {
    headers: {
      accept: 'text/event-stream',
      authorization: `Bearer ${api.token}`,
      ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
    },
  });
  if (!response.ok || !response.body) throw new Error(`the stream answered ${response.status}`);
  const messages = response.body
    .pipeThrough(new TextDecoderStream())
    .pipeThrough(new EventSourceParserStream());
  try {
    for await (const message of messages) {
      const event = agentEventSchema.parse(JSON.parse(message.data));
      events.push(event);
      following.lastId = message.id ?? following.lastId;
      if (isFinalEventType(event.eventType)) return true;
    }
  } catch (error) {
    // A killed stack cuts the connection.
    if (!(error instanceof TypeError)) throw error;
  }
  return false;
}
