import { createHash } from 'node:crypto';
import { deflateRawSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClaimReply, ExecutionResult, UploadBlobRequest } from '#shared/contracts/index.ts';
import { settleRun } from '#shared/orchestrator/index.ts';
import type { RunHead } from '#shared/runs/index.ts';
import { AuthorityLost, GatewayClient, GatewayRefused } from '#shared/runtime/gateway-client.ts';
import { type HostGateway, openHostGateway } from '#test/support/host-gateway.ts';
import { completedResult, noticeEvent } from '#test/support/run-builders.ts';

let gateway: HostGateway;
let client: GatewayClient;
let head: RunHead;
let claim: ClaimReply;
beforeEach(async () => {
  gateway = await openHostGateway();
  client = new GatewayClient({
    baseUrl: gateway.url,
    clock: gateway.hostClock,
    retryForMs: 5_000,
  });
  const launched = await gateway.launch([{ complete: 'x' }]);
  head = launched.head;
  claim = await client.claim(launched.ticket, {
    hostInstanceId: 'host-00000001',
    hostVersion: '1',
    sandbox: 'none',
  });
});
afterEach(() => gateway.close());

const append = (first: number, ...texts: string[]) =>
  client.append(claim.executionToken, head.runId, {
    cursor: claim.cursor,
    batch: {
      firstProducerSequence: first,
      events: texts.map((text) => noticeEvent(text)),
    },
  });

const report = (result: Partial<ExecutionResult>, ...texts: string[]) =>
  client.result(claim.executionToken, head.runId, {
    cursor: claim.cursor,
    batch: { firstProducerSequence: 1, events: texts.map((text) => noticeEvent(text)) },
    result: completedResult(result),
  });

function upload(payload: unknown): UploadBlobRequest {
  const text = Buffer.from(JSON.stringify(payload));
  return {
    blob: { sha256: createHash('sha256').update(text).digest('hex'), bytes: text.length },
    data: deflateRawSync(text).toString('base64'),
  };
}
const keep = (request: UploadBlobRequest) =>
  client.uploadBlob(claim.executionToken, head.runId, request);

async function messages(): Promise<unknown[]> {
  return (await gateway.events(head)).map(({ eventType, payload }) =>
    eventType === 'execution.diagnostic' ? (payload as { message: string }).message : eventType,
  );
}

describe('B107 a run that has timed out', () => {
  beforeEach(async () => {
    await append(1, 'in time');
    await settleRun(gateway.deps, head, { kind: 'deadline_passed', task: 'unknown' });
  });

  it('refuses heartbeats, events and payloads', async () => {
    const beat = client.heartbeat(claim.executionToken, head.runId, { state: 'running' });
    await expect(beat).rejects.toBeInstanceOf(AuthorityLost);
    await expect(append(2, 'late')).rejects.toBeInstanceOf(AuthorityLost);
    await expect(keep(upload({ text: 'late' }))).rejects.toBeInstanceOf(AuthorityLost);
    expect(await messages()).toEqual(['run.queued', 'in time', 'run.timed_out']);
  });

  it('keeps its ending when a success is reported after it, however often', async () => {
    const before = await gateway.ledger.readHead(head);
    for (let n = 0; n < 2; n += 1) {
      expect(await report({ usage: { outputTokens: 50 } }, 'late')).toEqual({
        outcome: 'kept',
        status: 'timed_out',
      });
    }
    expect(await gateway.ledger.readHead(head)).toEqual(before);
    expect(await messages()).toEqual(['run.queued', 'in time', 'run.timed_out']);
    const late = gateway.logged.filter(({ message }) => message === 'result came after the end');
    expect(late[0]?.fields).toMatchObject({ runId: head.runId, usage: { outputTokens: 50 } });
  });
});

describe('a result that is reported', () => {
  it('B101 is one ending with one final event, reported six times at once and again', async () => {
    const failure: Partial<ExecutionResult> = {
      status: 'failed',
      error: {
        class: 'ConfigurationError',
        code: 'engine_config_invalid',
        message: 'no',
        sideEffects: 'none',
      },
    };
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => report(failure, 'last words')),
    );
    replies.push(await report(failure, 'last words'));
    expect(replies.map(({ status }) => status)).toEqual(Array(7).fill('failed'));
    expect(replies.filter(({ outcome }) => outcome === 'committed')).toHaveLength(1);
    expect(await messages()).toEqual(['run.queued', 'last words', 'run.failed']);
    const again = await gateway.launch([{ complete: 'x' }]);
    // Its slot was given back once: another release would fail, and without it this tenant would have one less.
    expect((await gateway.ledger.readHead(again.head))?.status).toBe('starting');
  });

  it('B109 ends the run although its events can never be stored', async () => {
    const reply = client.result(claim.executionToken, head.runId, {
      cursor: `${claim.cursor}x`,
      batch: { firstProducerSequence: 1, events: [noticeEvent('lost')] },
      result: completedResult(),
    });
    expect(await reply).toEqual({ outcome: 'committed', status: 'completed' });
    expect(await messages()).toEqual(['run.queued', 'run.completed']);
  });
});

describe('payloads', () => {
  it('are kept under their hash, a repeat is acknowledged', async () => {
    const request = upload({ text: 'a payload' });
    expect(await keep(request)).toEqual({ blob: request.blob });
    expect(await keep(request)).toEqual({ blob: request.blob });
  });

  it('of the largest allowed size fit, even where they cannot be compressed', async () => {
    const noise = Buffer.alloc(3 * 1024 * 1024);
    for (let at = 0; at < noise.length; at += 32) {
      createHash('sha256').update(String(at)).digest().copy(noise, at);
    }
    const text = noise.toString('base64').slice(0, 4 * 1024 * 1024 - 2);
    const request = upload(text);
    expect(request.blob.bytes).toBe(4 * 1024 * 1024);
    expect(await keep(request)).toEqual({ blob: request.blob });
  });

  it.each([
    [
      'another hash',
      (r: UploadBlobRequest) => ({ ...r, blob: { ...r.blob, sha256: '0'.repeat(64) } }),
    ],
    ['another size', (r: UploadBlobRequest) => ({ ...r, blob: { ...r.blob, bytes: 3 } })],
    ['what is not compressed', (r: UploadBlobRequest) => ({ ...r, data: 'AAAA' })],
    [
      'a bomb',
      (r: UploadBlobRequest) => ({
        ...r,
        data: deflateRawSync(Buffer.alloc(200 * 1024 * 1024, 32)).toString('base64'),
      }),
    ],
  ])('are refused with %s, and nothing is kept', async (_what, change) => {
    const request = change(upload({ text: 'honest' }));
    await expect(keep(request)).rejects.toBeInstanceOf(GatewayRefused);
    const { tenantId, runId } = head;
    const key = { tenantId, runId, sha256: request.blob.sha256 };
    expect(await gateway.objects.blobs.read(key)).toBeUndefined();
  });
});
