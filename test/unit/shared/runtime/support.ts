import type { NewEvent } from '#shared/contracts/index.ts';
import type { Spool } from '#shared/runtime/index.ts';
import { noticeEvent } from '#test/support/run-builders.ts';

/** Presentation events wait for a timer; only `execution` events are urgent. */
export function delta(text: string): NewEvent {
  return {
    ...noticeEvent(text),
    eventType: 'message.delta',
    family: 'presentation',
    payload: { messageId: 'm', text },
  };
}

export function manualClock(startsAt = 0) {
  let now = startsAt;
  return {
    now: () => now,
    pass(ms: number) {
      now += ms;
    },
  };
}

/** A spool whose files can be looked at, and which fails when the test says so. */
export function memorySpool() {
  const files = new Map<string, string>();
  const faults: { write?: Error; read?: Error } = {};
  const spool: Spool = {
    async write(name, text) {
      if (faults.write) throw faults.write;
      files.set(name, text);
    },
    async read(name) {
      const text = files.get(name);
      if (faults.read || text === undefined) throw faults.read ?? new Error('not there');
      return text;
    },
    async remove(name) {
      files.delete(name);
    },
    async discard() {
      files.clear();
    },
  };
  return { ...spool, files, faults };
}
