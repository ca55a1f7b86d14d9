import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import {
  CAPABILITIES,
  type Capability,
  type ErrorCode,
  isFinalEventType,
  type NewEvent,
  tripleName,
  type Usage,
} from '#shared/contracts/index.ts';
import type { Json } from '#shared/engines/bounds.ts';
import type { EngineAdapter, EngineLocations, EngineRecord } from '#shared/engines/index.ts';
import { payloadsOf, type Replay, record, replay } from '#test/unit/shared/engines/support.ts';
import { type Driven, EngineDriver, emptyPrograms } from './drive-engine.ts';

/** What makes the engine behave in a certain way. */
export interface Stimulus {
  readonly prompt: string;
  readonly config: Json;
}

/**
 * What an adapter brings to be tested (ADP-6). Every scenario is played by the real engine in a real process;
 * where an engine needs a model, the harness brings a scripted one.
 */
export interface EngineAdapterHarness {
  readonly adapter: EngineAdapter;
  readonly locations: EngineLocations;
  readonly credentials: Readonly<Record<string, string>>;
  readonly scenarios: {
    /** Says something, and ends as a success with exactly this. */
    readonly work: Stimulus & { readonly output: string; readonly usage: Usage };
    /** Begins to do or say something that can be seen, and never ends by itself. */
    readonly hold: Stimulus;
    /** The same, deaf to polite signals, with a process outside its own session left behind. */
    readonly stubborn: Stimulus;
    /** The engine itself reports that it failed. */
    readonly fail: Stimulus & { readonly code: ErrorCode };
    /** Configurations that the strict schema must refuse, with the field to blame. */
    readonly invalid: readonly { readonly config: Json; readonly field: string }[];
    /** Required when `streaming` is declared: a message in several pieces. */
    readonly stream?: Stimulus;
    /** Required when `terminal_execution` is declared: a command that makes a file in the working directory. */
    readonly command?: Stimulus & { readonly creates: string };
    /** Required when `file_operations` is declared: a file made without a command. */
    readonly file?: Stimulus & { readonly creates: string };
  };
  /** Required when `session_resume` is declared: brings what the engine keeps of a session to another home. */
  readonly carrySession?: (fromHome: string, toHome: string) => Promise<void>;
  close(): Promise<void>;
}

const DOMAIN_TYPES = ['message.completed', 'tool.started', 'tool.completed'];
const isDomain = ({ source, eventType }: NewEvent) =>
  source === 'platform' && DOMAIN_TYPES.includes(eventType);

/**
 * ADP-6: what every engine adapter must do. A capability that is declared runs its positive cases, one that is not
 * must be refused. Cases about broken output play back what the real engine printed, with the damage put in.
 */
export function describeEngineAdapter(
  adapter: EngineAdapter,
  createHarness: () => Promise<EngineAdapterHarness>,
): void {
  const { descriptor } = adapter;
  const declares = (capability: Capability) => descriptor.declared[capability];

  describe(`ADP-6 ${tripleName(descriptor.triple)}`, () => {
    let harness: EngineAdapterHarness;
    let driver: EngineDriver;
    let worked: Driven;
    beforeAll(async () => {
      harness = await createHarness();
      driver = await EngineDriver.open(harness);
      worked = await driver.start(harness.scenarios.work);
      await worked.ended;
    });
    afterAll(async () => {
      await driver.close();
      await harness.close();
    });

    /** What the engine printed for `work`, changed, through a translator of its own. */
    async function replayWork(
      change: (records: readonly EngineRecord[]) => readonly EngineRecord[],
    ): Promise<Replay> {
      const { translator } = await driver.prepare(harness.scenarios.work);
      return replay(translator, change(worked.records), (await worked.ended).ending);
    }

    it('start: the program is found in a supported version and opens a session', async () => {
      const probed = await harness.adapter.probe(harness.locations);
      expect(probed).toEqual({ available: true, version: expect.any(String) });
      const [session] = payloadsOf(worked.events, 'engine.session.started');
      expect(session?.nativeSessionId).toEqual(expect.stringMatching(/./));
      expect(
        worked.events.filter(({ eventType }) => eventType === 'engine.session.started'),
      ).toHaveLength(1);
    });

    it('result: the final message, a success without an error, and the end of the session', async () => {
      const { result, outcome } = await worked.ended;
      expect(result).toMatchObject({ status: 'completed', output: harness.scenarios.work.output });
      expect(result).not.toHaveProperty('error');
      expect(outcome).toMatchObject({ cause: 'exited', survivors: 0 });
      expect(payloadsOf(worked.events, 'engine.session.completed')).toHaveLength(1);
      // The ending of a run is the platform's to say.
      expect(worked.events.filter(({ eventType }) => isFinalEventType(eventType))).toEqual([]);
    });

    it('result: a failure of the engine is a failure with its cause and without output', async () => {
      const { fail } = harness.scenarios;
      const { result } = await (await driver.start(fail)).ended;
      expect(result).toMatchObject({ status: 'failed', output: null, error: { code: fail.code } });
    });

    it('usage: as the engine counted it, in the result and in the last event', async () => {
      const { result } = await worked.ended;
      expect(result.usage).toEqual(harness.scenarios.work.usage);
      expect(payloadsOf(worked.events, 'usage.updated').at(-1)?.usage).toEqual(result.usage);
    });

    it('cancel: events arrive while the engine works; then it stops, and the run is cancelled', async () => {
      const driven = await driver.start(harness.scenarios.hold);
      await driven.event(isDomain);
      expect(driven.running.state).toBe('running');
      driven.running.stop('cancelled');
      const { result, outcome } = await driven.ended;
      expect(result).toMatchObject({
        status: 'cancelled',
        output: null,
        error: { code: 'run_cancelled' },
      });
      expect(outcome.survivors).toBe(0);
      expectToolsClosed(driven.events);
    });

    it('cancel: an engine that ignores it is gone all the same, with all it left behind', async () => {
      const driven = await driver.start(harness.scenarios.stubborn);
      await driven.event(isDomain);
      driven.running.stop('cancelled');
      const { result, outcome } = await driven.ended;
      expect(result.status).toBe('cancelled');
      expect(outcome).toMatchObject({ survivors: 0, verifiedEmptyAt: expect.any(String) });
      expectToolsClosed(driven.events);
    });

    it('timeout: the run is timed out and may have had side effects', async () => {
      const driven = await driver.start(harness.scenarios.hold);
      await driven.event(isDomain);
      driven.running.stop('timed_out');
      const { result } = await driven.ended;
      expect(result).toMatchObject({
        status: 'timed_out',
        error: { code: 'run_timed_out', sideEffects: 'maybe' },
      });
    });

    it('timeout: a success that was said too late is none', async () => {
      const { translator } = await driver.prepare(harness.scenarios.work);
      const end = { ...(await worked.ended).ending, cause: 'timed_out' as const };
      expect(replay(translator, worked.records, end).result.status).toBe('timed_out');
    });

    it('engine unavailable: where it is not installed it says so and does not start', async () => {
      const nowhere = await emptyPrograms();
      try {
        const locations = { ...harness.locations, programsRoot: nowhere.root };
        const probed = await harness.adapter.probe(locations);
        expect(probed).toEqual({ available: false, reason: expect.stringMatching(/./) });
        await expect(driver.prepare(harness.scenarios.work, { locations })).rejects.toMatchObject({
          code: 'engine_not_installed',
        });
      } finally {
        await nowhere.remove();
      }
    });

    it('invalid configuration: refused with the field, before anything starts', async () => {
      const { invalid, work } = harness.scenarios;
      const unknownField = { config: { noSuchField: 1 }, field: 'config' };
      for (const { config, field } of [unknownField, ...invalid]) {
        await expect(driver.prepare({ ...work, config })).rejects.toMatchObject({
          code: 'engine_config_invalid',
          record: { field: expect.stringContaining(field) },
        });
      }
      await expect(driver.prepare({ ...work, prompt: ' \n' })).rejects.toMatchObject({
        code: 'argument_invalid',
      });
    });

    it('protocol error: what cannot be read is a diagnostic and no ending (TRM-8)', async () => {
      const damage = ['no record at all', '{"half":', '\ufffd\ufffd'].map((text) => record(text));
      const { events, result } = await replayWork((records) =>
        records.flatMap((each) => [...damage, each]),
      );
      expect(withoutMetadata(result)).toEqual(withoutMetadata((await worked.ended).result));
      const kinds = payloadsOf(events, 'execution.diagnostic').map(({ kind }) => kind);
      expect(kinds).toContain('undecodable_output');
    });

    it('protocol error: an engine that ends without its last record has not succeeded', async () => {
      const { result } = await replayWork((records) => records.slice(0, -1));
      expect(result).toMatchObject({ status: 'failed', error: { code: 'engine_crashed' } });
    });

    it('duplicate event: every record twice is every event once', async () => {
      const { events, result } = await replayWork((records) =>
        records.flatMap((each) => [each, each]),
      );
      expect(events.filter(isDomain)).toEqual(worked.events.filter(isDomain));
      expect(withoutMetadata(result)).toEqual(withoutMetadata((await worked.ended).result));
    });

    it('delayed event: what comes after the verdict does not undo it', async () => {
      const { events, result } = await replayWork((records) => [
        ...records.slice(0, -2),
        ...records.slice(-2).reverse(),
      ]);
      expect(result.status).toBe('completed');
      expect(events.filter(isDomain)).toEqual(worked.events.filter(isDomain));
    });

    describe('stream', () => {
      it.runIf(declares('streaming'))(
        'pieces come before the message and add up to it',
        async () => {
          const driven = await driver.start(required(harness.scenarios.stream, 'stream'));
          await driven.ended;
          const deltas = payloadsOf(driven.events, 'message.delta');
          expect(deltas.length).toBeGreaterThan(1);
          const [message] = payloadsOf(driven.events, 'message.completed');
          const pieces = deltas.filter(({ messageId }) => messageId === message?.messageId);
          expect(pieces.map(({ text }) => text).join('')).toBe(message?.text);
          const types = driven.events.map(({ eventType }) => eventType);
          expect(types.lastIndexOf('message.delta')).toBeLessThan(
            types.indexOf('message.completed'),
          );
        },
      );

      it.runIf(declares('streaming'))('a run without it gets whole messages only', async () => {
        const driven = await driver.start({
          ...required(harness.scenarios.stream, 'stream'),
          effective: allBut('streaming'),
        });
        await driven.ended;
        expect(payloadsOf(driven.events, 'message.delta')).toEqual([]);
        expect(payloadsOf(driven.events, 'message.completed')).toHaveLength(1);
      });

      it.runIf(!declares('streaming'))('without the capability no piece is ever sent', () => {
        expect(payloadsOf(worked.events, 'message.delta')).toEqual([]);
      });
    });

    describe('unsupported capability', () => {
      it.each(CAPABILITIES.filter((name) => !declares(name)))(
        '%s is refused',
        async (capability) => {
          const { work } = harness.scenarios;
          const effective = [...CAPABILITIES.filter(declares), capability];
          await expect(driver.prepare({ ...work, effective })).rejects.toMatchObject({
            code: 'unsupported_capability',
          });
        },
      );

      it.each(descriptor.required)(
        '%s is asked for, because nothing works without it',
        async (name) => {
          const { work } = harness.scenarios;
          await expect(driver.prepare({ ...work, effective: allBut(name) })).rejects.toMatchObject({
            code: 'unsupported_capability',
          });
        },
      );

      describeTool('terminal_execution', 'command', 'command');
      describeTool('file_operations', 'file', 'file_change');

      it.runIf(declares('native_events'))(
        'native_events are under the name of the engine, or absent',
        async () => {
          const native = worked.events.filter(({ source }) => source === 'engine_native');
          expect(native.length).toBeGreaterThan(0);
          for (const { eventType } of native) {
            expect(eventType.startsWith(`${descriptor.triple.engineId}.`)).toBe(true);
          }
          const { work } = harness.scenarios;
          const { translator } = await driver.prepare({
            ...work,
            effective: allBut('native_events'),
          });
          const { events } = replay(translator, worked.records, (await worked.ended).ending);
          expect(events.filter(({ source }) => source === 'engine_native')).toEqual([]);
          expect(events.filter(isDomain)).toEqual(worked.events.filter(isDomain));
        },
      );

      it.runIf(declares('session_resume'))(
        'session_resume goes on in the same session',
        async () => {
          const carry = required(harness.carrySession, 'carrySession');
          const [session] = payloadsOf(worked.events, 'engine.session.started');
          const resumed = await driver.start({
            ...harness.scenarios.work,
            nativeSessionId: session?.nativeSessionId ?? '',
            beforeStart: (workdir) => carry(worked.workdir.home, workdir.home),
          });
          const { result } = await resumed.ended;
          expect(result.status).toBe('completed');
          expect(payloadsOf(resumed.events, 'engine.session.started')).toMatchObject([session]);
        },
      );
    });

    /** CAP-3, with real effects: allowed it happens, not allowed it does not. */
    function describeTool(
      capability: 'terminal_execution' | 'file_operations',
      scenario: 'command' | 'file',
      kind: 'command' | 'file_change',
    ): void {
      it.runIf(declares(capability))(
        `${capability} allowed: it happens and is reported`,
        async () => {
          const stimulus = required(harness.scenarios[scenario], scenario);
          const driven = await driver.start(stimulus);
          expect((await driven.ended).result.status).toBe('completed');
          expect(existsSync(join(driven.workdir.work, stimulus.creates))).toBe(true);
          expect(payloadsOf(driven.events, 'tool.completed')).toContainEqual(
            expect.objectContaining({ kind, status: 'completed' }),
          );
        },
      );

      it.runIf(declares(capability))(
        `CAP-3 ${capability} not allowed: it does not happen`,
        async () => {
          const stimulus = required(harness.scenarios[scenario], scenario);
          const driven = await driver.start({ ...stimulus, effective: allBut(capability) });
          await driven.ended;
          expect(existsSync(join(driven.workdir.work, stimulus.creates))).toBe(false);
          expect(payloadsOf(driven.events, 'tool.completed')).not.toContainEqual(
            expect.objectContaining({ kind, status: 'completed' }),
          );
        },
      );
    }

    function allBut(capability: Capability): Capability[] {
      return CAPABILITIES.filter((name) => declares(name) && name !== capability);
    }
  });
}

/** Each tool that started has ended. */
function expectToolsClosed(events: readonly NewEvent[]): void {
  const started = payloadsOf(events, 'tool.started').map(({ toolCallId }) => toolCallId);
  const completed = payloadsOf(events, 'tool.completed').map(({ toolCallId }) => toolCallId);
  expect(completed).toEqual(expect.arrayContaining(started));
}

/** Metadata is the adapter's own, and may count what a replay changes. */
function withoutMetadata<T extends { metadata: unknown }>({
  metadata,
  ...rest
}: T): Omit<T, 'metadata'> {
  return rest;
}

function required<T>(value: T | undefined, name: string): T {
  if (value === undefined) throw new Error(`a declared capability needs ${name} of the harness`);
  return value;
}
