import '#test/sim/kernel/virtual-globals.ts';
import { randomUUID } from 'node:crypto';
import { setTimeout as delay } from 'node:timers/promises';
import { type Actor, EPOCH_MS, Kernel } from '#test/sim/kernel/kernel.ts';

/** Run as a program of its own, since it takes over the timers of its process. Prints what the kernel did, as JSON. */

const HOUR_MS = 3_600_000;

/** Within the simulation: before it runs, timers are the real ones. */
function begin(kernel: Kernel, actor: Actor, main: () => Promise<void>): void {
  kernel.after(0, () => kernel.start(actor, main));
}

/** Two actors whose waits and words are left to chance. */
async function chance(seed: number): Promise<string> {
  const kernel = new Kernel(seed, { keepTrace: false });
  for (const name of ['a', 'b']) {
    const actor = kernel.newActor(name);
    begin(kernel, actor, async () => {
      for (let turn = 0; turn < 100; turn += 1) {
        await delay(1 + 10 * Math.random());
        kernel.note(`${actor.name} ${Date.now()} ${randomUUID()}`);
      }
    });
  }
  await kernel.run(() => false, HOUR_MS);
  return kernel.trace.digest();
}

/** What an actor says, in three strands that wait for different things, until it is crashed after 5 s. */
async function crash(): Promise<string[]> {
  const kernel = new Kernel(1, { keepTrace: false });
  const said: string[] = [];
  const actor = kernel.newActor('crashed');
  begin(kernel, actor, async () => {
    setInterval(() => said.push('interval'), 2_000);
    void delay(6_000).then(() => said.push('delay'));
    void Promise.resolve()
      .then(() => delay(4_999))
      .then(() => said.push('just before'));
    try {
      await new Promise((resolve) => setTimeout(resolve, 7_000));
    } finally {
      said.push('finally');
    }
  });
  kernel.after(5_000, () => kernel.crash(actor));
  await kernel.run(() => false, HOUR_MS);
  return said;
}

async function clocks(): Promise<number[]> {
  const kernel = new Kernel(1, { keepTrace: false });
  const seen: number[] = [];
  for (const skewMs of [0, 1_500]) {
    begin(kernel, kernel.newActor('clock', { skewMs }), async () => {
      await delay(1_000);
      seen.push(Date.now() - EPOCH_MS, new Date().getTime() - EPOCH_MS);
    });
  }
  await kernel.run(() => false, HOUR_MS);
  return seen.sort((a, b) => a - b);
}

async function unhandled(): Promise<string> {
  const kernel = new Kernel(1, { keepTrace: false });
  begin(kernel, kernel.newActor('careless'), async () => {
    void delay(10).then(() => {
      throw new Error('nobody caught this');
    });
    await delay(1_000);
  });
  return kernel
    .run(() => false, HOUR_MS)
    .then(
      () => 'nothing',
      (error: Error) => error.message,
    );
}

console.log(
  JSON.stringify({
    sameSeed: [await chance(7), await chance(7)],
    otherSeed: await chance(8),
    crash: await crash(),
    clocks: await clocks(),
    unhandled: await unhandled(),
  }),
);
