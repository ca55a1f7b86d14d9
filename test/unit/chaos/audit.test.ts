import { describe, expect, it } from 'vitest';
import type { AgentEvent, RunView } from '#shared/contracts/index.ts';
import {
  endingViolations,
  engineViolations,
  logViolations,
  type StoredRun,
} from '#test/chaos/audit.ts';
import { planRuns } from '#test/chaos/run-plan.ts';
import { SeededRandom } from '#test/chaos/seeded-random.ts';
import { track } from '#test/chaos/tracked-run.ts';
import type { EngineLife, Witness } from '#test/chaos/witness.ts';

const TYPES = ['run.queued', 'run.started', 'run.completed'];
const eventsOf = (types: readonly string[]) =>
  types.map((eventType, index) => ({ eventType, sequence: index + 1 }) as AgentEvent);

const plan = planRuns({
  random: new SeededRandom(1),
  runs: 40,
  tenants: ['a'],
  marks: { begin: 'begin', end: 'end' },
  keyPrefix: 'k',
}).find(({ expected, repeatable }) => expected === 'completed' && !repeatable)!;

function stored(types = TYPES, status = 'completed'): StoredRun {
  const events = eventsOf(types);
  const run = track(plan, 0);
  run.followed.push(...events);
  return { run, view: { runId: 'run_1', status, attempt: 1 } as RunView, events };
}

const life = (attempt: number, reachedEnd = true): EngineLife => ({
  runId: 'run_1',
  attempt,
  beganAt: 1,
  endedAt: 2,
  reachedEnd,
});
const witnessOf = (...lives: EngineLife[]) => ({ livesOf: () => lives }) as unknown as Witness;

it('finds nothing wrong with a run as it should be', () => {
  const each = stored();
  expect(logViolations(each)).toEqual([]);
  expect(endingViolations(each, witnessOf(life(1)))).toEqual([]);
  expect(engineViolations(each, witnessOf(life(1)))).toEqual([]);
});

describe('finds', () => {
  it('a gap', () => {
    const each = stored();
    const gap = each.events.map((event) => ({ ...event, sequence: event.sequence * 2 }));
    expect(logViolations({ ...each, events: gap }).join()).toMatch(/not dense/);
  });

  it('two endings', () => {
    expect(logViolations(stored([...TYPES, 'run.failed'])).join()).toMatch(/2 final events/);
  });

  it('something behind the ending', () => {
    expect(logViolations(stored([...TYPES, 'message.delta'])).join()).toMatch(/follows its final/);
  });

  it('an ending that is not the status', () => {
    expect(logViolations(stored(TYPES, 'failed')).join()).toMatch(/its status failed/);
  });

  it('an event that a follower missed, or got twice', () => {
    const missed = stored();
    missed.run.followed.pop();
    expect(logViolations(missed).join()).toMatch(/followers saw 2 events/);
    const twice = stored();
    twice.run.followed.push(twice.events[0]!);
    expect(logViolations(twice).join()).toMatch(/followers saw 4 events/);
  });

  it('an ending that no kill explains', () => {
    const each = stored(['run.queued', 'run.failed'], 'failed');
    expect(endingViolations(each, witnessOf(life(1))).join()).toMatch(/not hit, ended failed/);
    each.run.hit = true;
    expect(endingViolations(each, witnessOf(life(1)))).toEqual([]);
  });

  it('a success of a script that crashes, unless nothing ran in its first attempt', () => {
    const run = track({ ...plan, kind: 'crashing_once', expected: 'failed' }, 0);
    run.hit = true;
    const each = { ...stored(), run };
    expect(endingViolations(each, witnessOf(life(1))).join()).toMatch(/ended completed/);
    expect(endingViolations(each, witnessOf(life(2)))).toEqual([]);
  });

  it('a status that changed after the end', () => {
    const each = stored();
    each.run.statuses.push('running', 'failed');
    expect(endingViolations(each, witnessOf(life(1))).join()).toMatch(
      /pollers saw running → failed/,
    );
  });

  it('a second engine of a run that may not be repeated', () => {
    expect(engineViolations(stored(), witnessOf(life(1), life(1))).join()).toMatch(/had 2 engines/);
  });

  it('a success whose script did not come to its end', () => {
    expect(engineViolations(stored(), witnessOf(life(1, false))).join()).toMatch(/did not/);
  });
});

it('deals as the weights say, the same for the same seed', () => {
  const deal = () => new SeededRandom(7).deal({ often: 3, seldom: 1 }, 10);
  expect(deal()).toEqual(deal());
  expect(deal().filter((name) => name === 'often')).toHaveLength(8);
});
