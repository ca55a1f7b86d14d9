import { createRequire, syncBuiltinESMExports } from 'node:module';
import type { Appointment } from './agenda.ts';
import { Kernel } from './kernel.ts';

/**
 * Replaces, for the whole process, what code takes time and chance from: timers, the time of day, random numbers. While
 * a simulation runs they are its own; else they are the real ones. Import this file before the code under test.
 */

const require = createRequire(import.meta.url);
const timers = require('node:timers') as Record<string, unknown>;
const timerPromises = require('node:timers/promises') as Record<string, unknown>;
const crypto = require('node:crypto') as Record<string, unknown>;

type Callback = (...args: unknown[]) => void;

/** What setTimeout answers: as much of Node's Timeout as anybody uses. */
class VirtualTimer {
  appointment: Appointment | undefined;
  ref(): this {
    return this;
  }
  unref(): this {
    return this;
  }
  hasRef(): boolean {
    return true;
  }
}

function actorOf(kernel: Kernel) {
  const { actor } = kernel;
  if (!actor) throw new Error('a timer was asked for outside of any actor');
  return actor;
}

function start(kernel: Kernel, delayMs: unknown, run: () => void): VirtualTimer {
  const actor = actorOf(kernel);
  const timer = new VirtualTimer();
  const delay = Math.max(1, Number(delayMs) || 0);
  timer.appointment = kernel.afterFor(actor, delay, run);
  return timer;
}

function stop(timer: unknown): boolean {
  if (!(timer instanceof VirtualTimer)) return false;
  if (timer.appointment) timer.appointment.cancelled = true;
  return true;
}

const real = {
  setTimeout,
  clearTimeout,
  setInterval,
  clearInterval,
  setImmediate,
  clearImmediate,
  Date,
  random: Math.random,
  timeout: AbortSignal.timeout,
  delay: timerPromises.setTimeout as (ms?: number, value?: unknown, options?: object) => unknown,
  randomBytes: crypto.randomBytes as (size: number, callback?: unknown) => Buffer,
  randomUUID: crypto.randomUUID as (options?: object) => string,
};

const virtual = {
  setTimeout(callback: Callback, delayMs?: number, ...args: unknown[]) {
    const kernel = Kernel.active;
    if (!kernel) return real.setTimeout(callback, delayMs, ...args);
    return start(kernel, delayMs, () => callback(...args));
  },
  clearTimeout(timer: unknown) {
    if (!stop(timer)) real.clearTimeout(timer as NodeJS.Timeout);
  },
  setInterval(callback: Callback, everyMs?: number, ...args: unknown[]) {
    const kernel = Kernel.active;
    if (!kernel) return real.setInterval(callback, everyMs, ...args);
    const again = () => {
      timer.appointment = start(kernel, everyMs, again).appointment;
      callback(...args);
    };
    const timer = start(kernel, everyMs, again);
    return timer;
  },
  setImmediate(callback: Callback, ...args: unknown[]) {
    const kernel = Kernel.active;
    // Node's own streams never use it; an actor's turn ends here as it would in its own process.
    if (!kernel?.actor) return real.setImmediate(callback, ...args);
    const timer = new VirtualTimer();
    timer.appointment = kernel.afterFor(kernel.actor, 0, () => callback(...args));
    return timer;
  },
  clearImmediate(timer: unknown) {
    if (!stop(timer)) real.clearImmediate(timer as NodeJS.Immediate);
  },
  /** `timers/promises`. */
  delay(delayMs?: number, value?: unknown, options: { signal?: AbortSignal } = {}) {
    const kernel = Kernel.active;
    if (!kernel) return real.delay(delayMs, value, options);
    const { signal } = options;
    return new Promise((resolve, reject) => {
      const aborted = () => {
        stop(timer);
        const error = new Error('The operation was aborted', { cause: signal?.reason });
        reject(Object.assign(error, { name: 'AbortError', code: 'ABORT_ERR' }));
      };
      const timer = start(kernel, delayMs, () => {
        signal?.removeEventListener('abort', aborted);
        resolve(value);
      });
      if (signal?.aborted) aborted();
      else signal?.addEventListener('abort', aborted, { once: true });
    });
  },
  timeout(delayMs: number): AbortSignal {
    const kernel = Kernel.active;
    if (!kernel) return real.timeout(delayMs);
    const controller = new AbortController();
    start(kernel, delayMs, () =>
      controller.abort(
        new DOMException('The operation was aborted due to timeout', 'TimeoutError'),
      ),
    );
    return controller.signal;
  },
  random: () => (Kernel.active ? Kernel.active.random.unit() : real.random()),
  randomBytes(size: number, callback?: unknown) {
    const kernel = Kernel.active;
    if (!kernel || callback) return real.randomBytes(size, callback);
    return Buffer.from(kernel.random.bytes(size));
  },
  randomUUID(options?: object): string {
    const kernel = Kernel.active;
    if (!kernel) return real.randomUUID(options);
    const hex = Buffer.from(kernel.random.bytes(16)).toString('hex');
    return [
      hex.slice(0, 8),
      hex.slice(8, 12),
      `4${hex.slice(13, 16)}`,
      `8${hex.slice(17, 20)}`,
      hex.slice(20),
    ].join('-');
  },
};

const timeOfDay = () => Kernel.active?.timeOfDay() ?? real.Date.now();

const VirtualDate = new Proxy(real.Date, {
  construct: (target, args: [], newTarget) =>
    Reflect.construct(target, args.length === 0 ? [timeOfDay()] : args, newTarget),
  apply: () => new real.Date(timeOfDay()).toString(),
  get: (target, name, receiver) =>
    name === 'now' ? timeOfDay : Reflect.get(target, name, receiver),
});

const FUNCTIONS = [
  'setTimeout',
  'clearTimeout',
  'setInterval',
  'clearInterval',
  'setImmediate',
  'clearImmediate',
] as const;

const replaced: Record<string, unknown> = virtual;
Object.assign(globalThis, { Date: VirtualDate });
for (const name of FUNCTIONS) {
  Object.assign(globalThis, { [name]: replaced[name] });
  timers[name] = replaced[name];
}
timerPromises.setTimeout = virtual.delay;
crypto.randomBytes = virtual.randomBytes;
crypto.randomUUID = virtual.randomUUID;
Object.assign(globalThis.crypto, { randomUUID: virtual.randomUUID });
Math.random = virtual.random;
AbortSignal.timeout = virtual.timeout;
syncBuiltinESMExports();

process.on('unhandledRejection', (error) => {
  if (!Kernel.active) throw error;
  Kernel.active.fault(error);
});
