import { TestEventPatternCommand } from '@aws-sdk/client-eventbridge';
import { describe, expect } from 'vitest';
import { failure } from '../sdk.ts';
import { type EventsPart, TestBus } from './fixture.ts';

interface Sample {
  readonly title: string;
  /** The pattern of `detail`. */
  readonly pattern: object;
  readonly fits: readonly object[];
  readonly misses: readonly object[];
}

const SAMPLES: readonly Sample[] = [
  {
    title: 'exact values: any of the list, of the same type',
    pattern: { status: ['failed', 'cancelled'], code: [1, null, true] },
    fits: [
      { status: 'failed', code: 1 },
      { status: 'cancelled', code: null },
      { status: 'failed', code: true },
    ],
    misses: [{ status: 'Failed', code: 1 }, { status: 'failed', code: '1' }, { status: 'failed' }],
  },
  {
    title: 'arrays: one element is enough',
    pattern: { tags: ['a', 'b'] },
    fits: [{ tags: ['x', 'b'] }, { tags: 'a' }],
    misses: [{ tags: ['x'] }, { tags: [] }],
  },
  {
    title: 'nested fields: all have to fit',
    pattern: { run: { owner: ['t1'], state: { now: ['done'] } } },
    fits: [{ run: { owner: 't1', state: { now: 'done', before: 'x' } } }],
    misses: [{ run: { owner: 't1' } }, { run: { owner: 't2', state: { now: 'done' } } }, {}],
  },
  {
    title: 'prefix',
    pattern: { name: [{ prefix: 'run.' }] },
    fits: [{ name: 'run.completed' }],
    misses: [{ name: 'Run.completed' }, { name: 5 }, {}],
  },
  {
    title: 'suffix',
    pattern: { file: [{ suffix: '.ts' }] },
    fits: [{ file: 'a.ts' }],
    misses: [{ file: 'a.tsx' }, {}],
  },
  {
    title: 'equals-ignore-case',
    pattern: { name: [{ 'equals-ignore-case': 'Alice' }] },
    fits: [{ name: 'aLICE' }],
    misses: [{ name: 'alice2' }, {}],
  },
  {
    title: 'wildcard',
    pattern: { path: [{ wildcard: 'runs/*/log*.txt' }] },
    fits: [{ path: 'runs/1/log.txt' }, { path: 'runs/a/b/log-9.txt' }],
    misses: [{ path: 'runs/log.txt' }, { path: 'runs/1/log.txt2' }, {}],
  },
  {
    title: 'anything-but one value',
    pattern: { state: [{ 'anything-but': 'open' }] },
    fits: [{ state: 'done' }],
    misses: [{ state: 'open' }, {}],
  },
  {
    title: 'anything-but a list',
    pattern: { n: [{ 'anything-but': [1, 2] }] },
    fits: [{ n: 3 }],
    misses: [{ n: 1 }, { n: 2 }],
  },
  {
    title: 'anything-but a prefix',
    pattern: { name: [{ 'anything-but': { prefix: 'tmp-' } }] },
    fits: [{ name: 'run-1' }],
    misses: [{ name: 'tmp-1' }],
  },
  {
    title: 'exists',
    pattern: { error: [{ exists: true }], retry: [{ exists: false }] },
    fits: [{ error: 'x' }, { error: null }],
    misses: [{ error: 'x', retry: 1 }, { retry: 1 }, {}],
  },
  {
    title: 'numeric ranges',
    pattern: { cost: [{ numeric: ['>', 0, '<=', 5] }], n: [{ numeric: ['=', 3] }] },
    fits: [
      { cost: 5, n: 3 },
      { cost: 0.1, n: 3.0 },
    ],
    misses: [
      { cost: 0, n: 3 },
      { cost: 5.1, n: 3 },
      { cost: 5, n: '3' },
    ],
  },
  {
    title: '$or of fields',
    pattern: { kind: ['run'], $or: [{ cost: [{ numeric: ['>', 5] }] }, { state: ['failed'] }] },
    fits: [
      { kind: 'run', cost: 6 },
      { kind: 'run', state: 'failed' },
    ],
    misses: [{ kind: 'run', cost: 5 }, { cost: 6 }, { kind: 'run' }],
  },
];

/** Event patterns, by what arrives under a rule that has them. */
export function patterns({ it, endpoint }: EventsPart): void {
  describe('patterns', () => {
    for (const { title, pattern, fits, misses } of SAMPLES) {
      it(`match ${title}`, async () => {
        const bus = await TestBus.create(endpoint());
        await bus.listen({ detail: pattern });
        await bus.putDetails(...misses);
        await bus.putDetails(...fits);
        const arrived = (await bus.arrived(fits.length)).map((event) => event.detail);
        expect(arrived).toEqual(expect.arrayContaining([...fits]));
        expect(await bus.queue.receive()).toEqual([]);
      });
    }

    it('are tried without a rule', async () => {
      const { client } = await TestBus.create(endpoint());
      const event = {
        id: '1',
        account: '123456789012',
        source: 'a',
        time: '2030-01-01T00:00:00Z',
        region: 'us-east-1',
        resources: [],
        'detail-type': 'x',
        detail: { n: 1 },
      };
      const test = (pattern: object, tested: object = event) =>
        client.send(
          new TestEventPatternCommand({
            EventPattern: JSON.stringify(pattern),
            Event: JSON.stringify(tested),
          }),
        );
      expect((await test({ source: ['a'] })).Result).toBe(true);
      expect((await test({ source: ['b'] })).Result).toBe(false);
      await failure(test({ source: 'a' }), 'InvalidEventPatternException');
      await failure(test({ source: ['a'] }, { source: 'a' }), 'ValidationException');
    });
  });
}
