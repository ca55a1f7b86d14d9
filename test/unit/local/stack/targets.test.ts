import { expect, it } from 'vitest';
import { inProcess } from '#local/lambda/index.ts';
import { deliverToFunctions } from '#local/stack/targets.ts';

const signal = new AbortController().signal;
const target = (arn: string) => ({ arn, ruleName: 'rule' });

it('loads no function before its environment is complete, and then delivers what an earlier stack left', async () => {
  const ready = Promise.withResolvers<void>();
  let complete = false;
  const loadedWhen: boolean[] = [];
  const taken: unknown[] = [];
  const functions = new Map([
    [
      'workers/settle-stopped-task',
      inProcess({
        name: 'settle-stopped-task',
        timeoutMs: 5_000,
        load: async () => {
          loadedWhen.push(complete);
          return (async (event: unknown) => void taken.push(event)) as never;
        },
      }),
    ],
  ]);
  const deliver = deliverToFunctions({ functions, ready: ready.promise, signal });
  const delivered = deliver(target('arn:aws:lambda:x:0:function:settle-stopped-task'), { n: 1 });
  complete = true;
  ready.resolve();
  await delivered;
  expect({ loadedWhen, taken }).toEqual({ loadedWhen: [true], taken: [{ n: 1 }] });
});

it('rejects what has no such target, so that it is offered again', async () => {
  const deliver = deliverToFunctions({ functions: new Map(), ready: Promise.resolve(), signal });
  await expect(deliver(target('arn:aws:lambda:x:0:function:nobody'), {})).rejects.toThrow(/nobody/);
});
