/** One guard of the code under test, broken. */
export interface Mutant {
  readonly name: string;
  /** What it takes away. */
  readonly guard: string;
  readonly file: string;
  /** Exactly once in the file. */
  readonly replaces: string;
  readonly by: string;
}

const CLAIM = 'shared/runs/dynamo-claim-run.ts';
const APPEND = 'shared/runs/dynamo-append-page.ts';
const END = 'shared/runs/dynamo-end-run.ts';
const ITEM = 'shared/runs/dynamo-run-item.ts';
const QUOTA = 'shared/runs/dynamo-quota.ts';
const SETTLE = 'shared/orchestrator/settle-run.ts';
const SWEEP = 'shared/orchestrator/sweep-run.ts';

/** Every guard that the promises of a run rest on, each broken alone. */
export const MUTANTS: readonly Mutant[] = [
  {
    name: 'append-after-seal',
    guard: 'a seal fences its epoch',
    file: APPEND,
    replaces: "if (winner.epoch > epoch || (winner.kind === 'seal' && winner.epoch >= epoch)) {",
    by: 'if (winner.epoch > epoch) {',
  },
  {
    name: 'append-after-final',
    guard: 'the final page ends the log',
    file: APPEND,
    replaces: "if (winner.kind === 'final') return { outcome: 'fenced', by: 'final' };",
    by: '',
  },
  {
    name: 'append-not-deduplicated',
    guard: 'events sent again are skipped by their producer sequence',
    file: APPEND,
    replaces: 'const skip = Math.max(0, storedThrough - firstProducerSequence + 1);',
    by: 'const skip = Math.min(0, storedThrough);',
  },
  {
    name: 'append-overwrites',
    guard: 'a page is only put where none is',
    file: APPEND,
    replaces: 'await table.put(toPageItem(ref, page), notYetPut)',
    by: 'await table.put(toPageItem(ref, page))',
  },
  {
    name: 'append-acknowledges-loser',
    guard: 'a lost slot is renumbered, not acknowledged',
    file: APPEND,
    replaces: 'if (winner.mine) {',
    by: "if (winner.mine || winner.producer === 'platform') {",
  },
  {
    name: 'claim-any-epoch',
    guard: 'a host claims the epoch of its ticket',
    file: CLAIM,
    replaces: '        ofEpoch(input.epoch),\n',
    by: '',
  },
  {
    name: 'claim-any-host',
    guard: 'one host claims an epoch',
    file: CLAIM,
    replaces: '        unclaimedOrMine(input.hostInstanceId),\n',
    by: '',
  },
  {
    name: 'claim-any-status',
    guard: 'a host claims what is starting or its own',
    file: CLAIM,
    replaces: "        oneOf('status', ['starting', 'running']),\n",
    by: '',
  },
  {
    name: 'claim-keeps-epoch',
    guard: 'each launch has its own epoch',
    file: CLAIM,
    replaces: 'epoch: head.epoch + 1,',
    by: 'epoch: Math.max(1, head.epoch),',
  },
  {
    name: 'lease-of-any-epoch',
    guard: 'a heartbeat renews the lease of its own epoch',
    file: CLAIM,
    replaces: "all(ofEpoch(epoch), oneOf('status', ['running', 'cancelling'])),",
    by: "oneOf('status', ['running', 'cancelling', 'starting', 'completed', 'failed']),",
  },
  {
    name: 'head-not-compared',
    guard: 'a decision is written on the head it was made on',
    file: ITEM,
    replaces: "all(equals('status', head.status), equals('epoch', head.epoch));",
    by: "equals('tenantId', head.tenantId);",
  },
  {
    name: 'finish-twice',
    guard: 'nothing leaves a terminal status',
    file: END,
    replaces: 'when: all(mayBecome(status), unchangedSince(head)),',
    by: '',
  },
  {
    name: 'requeue-without-seal',
    guard: 'a run that is taken away is sealed',
    file: END,
    replaces: "return withPage(table, head, { kind: 'seal', events, attempt }, (page) => {",
    by: "return withPage(table, head, { kind: 'events', events, attempt }, (page) => {",
  },
  {
    name: 'slot-not-renumbered',
    guard: 'a platform page goes on behind a host page that took its place',
    file: END,
    replaces: 'position = existing ? positionBehind(existing) : await logEnd(table, head);',
    by: "if (existing) return { outcome: 'applied', head: after };",
  },
  {
    name: 'quota-not-released',
    guard: 'an ending gives its slot back',
    file: QUOTA,
    replaces: 'if (!quota) return [];',
    by: 'if (quota || !quota) return [];',
  },
  {
    name: 'quota-without-limit',
    guard: 'a claim waits for a free slot',
    file: QUOTA,
    replaces: "any(absent('live'), below('live', limit));",
    by: "any(absent('live'), below('live', limit + 1_000));",
  },
  {
    name: 'usage-counted-again',
    guard: 'a page is counted once',
    file: 'shared/usage/dynamo-usage-store.ts',
    replaces: "const notYetCounted: Condition = absent('pk');",
    by: "const notYetCounted: Condition = absent('nothing');",
  },
  {
    name: 'usage-of-attempts-lost',
    guard: 'the head sums the usage of all attempts',
    file: SETTLE,
    replaces: "const usage = evidence.kind === 'host_result' ? evidence.result.usage : {};",
    by: 'const usage = {};',
  },
  {
    name: 'event-id-by-chance',
    guard: 'an event has the same id on every publication',
    file: 'shared/runs/log-page.ts',
    replaces: '`${runId}.${sequence}`,',
    by: '`${runId}.${sequence}.${Math.random()}`,',
  },
  {
    name: 'bus-refusals-unread',
    guard: 'a refused entry of a call that succeeded is sent again',
    file: 'shared/orchestrator/eventbridge-event-bus.ts',
    replaces: 'return answer && !answer.ErrorCode',
    by: 'return answer',
  },
  {
    name: 'effects-repeated',
    guard: 'what may have had effects is not started again',
    file: 'shared/runs/retry.ts',
    replaces: "if (error.sideEffects === 'maybe' && !head.repeatable) return false;",
    by: '',
  },
  {
    name: 'old-evidence-counts',
    guard: 'evidence about an older attempt is nothing',
    file: 'shared/runs/decide.ts',
    replaces: "if ('epoch' in evidence && evidence.epoch !== head.epoch) return STAY;",
    by: '',
  },
  {
    name: 'token-per-run',
    guard: 'each attempt launches its own task',
    file: 'shared/orchestrator/task-identity.ts',
    replaces: 'stableHash({ tenantId: ref.tenantId, runId: ref.runId, epoch })',
    by: 'stableHash({ tenantId: ref.tenantId, runId: ref.runId, epoch: epoch - epoch })',
  },
  {
    name: 'reader-off-by-one',
    guard: 'a reader resumes behind the event it has',
    file: 'shared/orchestrator/stream-run-events.ts',
    replaces: 'page.starts[offset + 1] ?? page.bytes.length',
    by: 'page.starts[offset] ?? page.bytes.length',
  },
  {
    name: 'sweeper-skips-queued',
    guard: 'a lost launch message is sent again',
    file: SWEEP,
    replaces: "case 'queued':",
    by: "case 'queued': if (head.deadlineAt) return now + 3_600_000;",
  },
  {
    name: 'sweeper-trusts-silence',
    guard: 'a silent host is looked after',
    file: SWEEP,
    replaces: 'const silentMs = now - leaseEnds(head);',
    by: 'const silentMs = -1;',
  },
  {
    name: 'idempotency-body-ignored',
    guard: 'another body with a used key is refused',
    file: 'shared/orchestrator/submit-run.ts',
    replaces: 'bodyHash: stableHash(body),',
    by: "bodyHash: 'the same',",
  },
  {
    name: 'idempotency-key-ignored',
    guard: 'the same key is the same run',
    file: 'shared/orchestrator/submit-run.ts',
    replaces: 'runIdOfKey(caller.tenantId, idempotencyKey)',
    by: 'deps.ids.runId()',
  },
  {
    name: 'attempts-without-limit',
    guard: 'a run is tried as often as it may be',
    file: 'shared/runs/retry.ts',
    replaces: 'if (head.attempt >= head.maxAttempts) return false;',
    by: '',
  },
  {
    name: 'final-page-dropped',
    guard: 'an ending and its page are one transaction',
    file: END,
    replaces: '{ put: platformPageItem(head, next, writer, ending), when: notYetPut },',
    by: '',
  },
  {
    name: 'requeue-not-sent',
    guard: 'a requeued run gets its message, and its timer makes up for a lost one',
    file: SETTLE,
    replaces: 'now + delayMs + (deps.queue ? deps.timing.queuedCheckMs : 0),',
    by: 'Date.parse(head.deadlineAt) + 3_600_000,',
  },
];
