import { ulid } from 'ulid';
import {
  capabilities,
  type ExecutionResult,
  type NewEvent,
  platformEvent,
} from '#shared/contracts/index.ts';
import type { AttemptTerms, RunHead, RunSpecification } from '#shared/runs/index.ts';

export const NOON = '2026-11-30T12:00:00.000Z';

/** A time `seconds` after {@link NOON}. */
export function at(seconds: number): string {
  return new Date(Date.parse(NOON) + seconds * 1000).toISOString();
}

export function queuedHead(fields: Partial<RunHead> = {}): RunHead {
  return {
    tenantId: 'acme',
    runId: `run_${ulid()}`,
    engine: { engineId: 'local_test', protocolId: 'native', adapterVersion: 'v1' },
    status: 'queued',
    attempt: 0,
    epoch: 0,
    maxAttempts: 3,
    repeatable: false,
    deadlineAt: at(1_800),
    usage: {},
    traceId: '0af7651916cd43dd8448eb211c80319c',
    createdAt: NOON,
    dueAt: at(60),
    ...fields,
  };
}

export const SPECIFICATION: RunSpecification = {
  input: { prompt: 'say hello' },
  config: {},
  budget: {},
  denied: [],
};

export function queuedEvent(head: RunHead): NewEvent {
  return platformEvent('run.queued', { engine: head.engine }, { timestamp: head.createdAt });
}

export function noticeEvent(message: string, timestamp = NOON): NewEvent {
  return platformEvent('execution.diagnostic', { kind: 'host_notice', message }, { timestamp });
}

/** What a run is created from; requests for one run are told apart by their body alone. */
export function creationOf(head: RunHead, bodyHash = 'body') {
  return { head, specification: SPECIFICATION, events: [queuedEvent(head)], bodyHash };
}

const none = capabilities();

export const TERMS: AttemptTerms = {
  capabilities: { declared: none, available: none, effective: none, refusals: [] },
  policyVersion: 'test',
  credentialNames: [],
};

/** A claim of a run under its tenant's limit. */
export function claimOf(head: RunHead, tenantLimit = 100) {
  return {
    head,
    terms: TERMS,
    quota: { tenantShard: 0, tenantLimit },
    leaseExpiresAt: at(300),
    dueBy: at(45),
    now: NOON,
  };
}

export function completedResult(fields: Partial<ExecutionResult> = {}): ExecutionResult {
  return {
    schemaVersion: '1',
    status: 'completed',
    output: 'done',
    artifacts: [],
    usage: { inputTokens: 10, outputTokens: 2 },
    metadata: {},
    ...fields,
  };
}
