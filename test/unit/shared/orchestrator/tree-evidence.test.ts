import { describe, expect, it } from 'vitest';
import type { ProcessTree } from '#shared/contracts/index.ts';
import { treeEvidence } from '#shared/orchestrator/tree-evidence.ts';
import type { Evidence } from '#shared/runs/index.ts';
import { completedResult, NOON, queuedHead } from '#test/support/run-builders.ts';

const claimed = queuedHead({ status: 'cancelling', epoch: 1, hostInstanceId: 'host-1' });
const unclaimed = queuedHead({ status: 'starting', epoch: 1 });
const expired = (task: 'stopped' | 'missing' | 'running' | 'unknown'): Evidence => ({
  kind: 'lease_expired',
  epoch: 1,
  task,
});

const FROM_HOST: ProcessTree = {
  verifiedBy: 'host',
  verifiedGoneAt: NOON,
  method: 'uid',
  signals: ['SIGTERM'],
  processesKilled: 0,
  survivors: 0,
};

describe('HST-2 what is known of the processes of a run that ends', () => {
  it('is what its host says', () => {
    const result = completedResult({ processTree: FROM_HOST });
    const seen: Evidence = { kind: 'host_result', epoch: 1, result };
    expect(treeEvidence(claimed, seen, result, NOON)).toEqual(FROM_HOST);
  });

  it.each([
    ['stopped', 'task_stopped'],
    ['missing', 'task_missing'],
  ] as const)('B103 is that the task is %s, when no host speaks', (task, verifiedBy) => {
    expect(treeEvidence(claimed, expired(task), undefined, NOON)).toEqual({
      verifiedBy,
      verifiedGoneAt: NOON,
    });
    const deadline: Evidence = { kind: 'deadline_passed', task };
    expect(treeEvidence(claimed, deadline, undefined, NOON)).toMatchObject({ verifiedBy });
  });

  it.each(['running', 'unknown'] as const)('is nothing while the task is %s', (task) => {
    const deadline: Evidence = { kind: 'deadline_passed', task };
    expect(treeEvidence(claimed, deadline, undefined, NOON)).toBeUndefined();
  });

  it('is that none was ever started, before a host has claimed the run', () => {
    for (const head of [unclaimed, queuedHead()]) {
      const cancel: Evidence = { kind: 'cancel_requested' };
      expect(treeEvidence(head, cancel, undefined, NOON)).toEqual({
        verifiedBy: 'never_started',
        verifiedGoneAt: NOON,
      });
    }
  });
});
