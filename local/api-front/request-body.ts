import type { IncomingMessage } from 'node:http';

export type BodyRead =
  | { readonly kind: 'body'; readonly body: Buffer }
  | { readonly kind: 'too_large' }
  /** The client left in the middle of it. */
  | { readonly kind: 'aborted' };

/** Reads a request body, holding no more than `maxBytes` of it. */
export async function readBody(message: IncomingMessage, maxBytes: number): Promise<BodyRead> {
  if (Number(message.headers['content-length'] ?? 0) > maxBytes) return { kind: 'too_large' };
  const chunks: Buffer[] = [];
  let size = 0;
  return await new Promise<BodyRead>((resolve) => {
    message.on('data', (chunk: Buffer) => {
      size += chunk.length;
      if (size <= maxBytes) chunks.push(chunk);
      else {
        chunks.length = 0;
        resolve({ kind: 'too_large' });
      }
    });
    message.once('end', () => resolve({ kind: 'body', body: Buffer.concat(chunks) }));
    message.once('close', () => resolve({ kind: 'aborted' }));
    message.once('error', () => resolve({ kind: 'aborted' }));
  });
}
