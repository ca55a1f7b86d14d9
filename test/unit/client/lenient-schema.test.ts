import { describe, expect, it } from 'vitest';
import { lenient } from '#client/lenient-schema.ts';
import {
  agentEventSchema,
  engineListSchema,
  executionError,
  PLATFORM_EVENTS,
  runListSchema,
  runViewSchema,
} from '#shared/contracts/index.ts';
import { engineView, message, runSummary, runView } from './support/run-samples.ts';

describe('lenient', () => {
  it('strips unknown fields at every level of a reply', () => {
    const run = runView({
      usage: { inputTokens: 1 },
      attempts: [{ attempt: 1, epoch: 1, claimedAt: runView().createdAt }],
    });
    const newer = {
      ...run,
      region: 'mars',
      engine: { ...run.engine, flavour: 'mint' },
      usage: { ...run.usage, joules: 3 },
      attempts: run.attempts.map((attempt) => ({ ...attempt, host: 'h1' })),
    };
    expect(runViewSchema.safeParse(newer).success).toBe(false);
    expect(lenient(runViewSchema).parse(newer)).toEqual(run);
  });

  it('strips them in lists too, and keeps what is known', () => {
    const summary = runSummary({ status: 'queued' });
    const runs = lenient(runListSchema).parse({ runs: [{ ...summary, extra: 1 }], total: 9 });
    expect(runs).toEqual({ runs: [summary] });
    const view = engineView();
    const declared = { ...view.declared, teleportation: true };
    expect(lenient(engineListSchema).parse({ engines: [{ ...view, declared }] })).toEqual({
      engines: [view],
    });
  });

  it('passes error codes, error classes and capabilities it does not know', () => {
    const error = { ...executionError('internal', 'x'), code: 'moon_phase', class: 'LunarError' };
    const capabilities = {
      declared: engineView().declared,
      available: engineView().available,
      effective: engineView().available,
      refusals: [{ capability: 'levitation', layer: 'effective', rule: 'r', reason: 'no' }],
    };
    const parsed = lenient(runViewSchema).parse({ ...runView(), error, capabilities });
    expect(parsed.error).toEqual(error);
    expect(parsed.capabilities?.refusals).toEqual(capabilities.refusals);
  });

  it('leaves the payload of an event as it is', () => {
    const event = { ...message(1, 'a'), payload: { messageId: 'm', deep: { er: [1, null] } } };
    expect(lenient(agentEventSchema).parse({ ...event, extra: 1 })).toEqual(event);
  });

  it.each([
    ['a status it does not know', { ...runView(), status: 'dreaming' }],
    ['a missing field', { ...runView(), createdAt: undefined }],
    ['a value of another type', { ...runView(), attempt: '1' }],
    ['a run id of another form', { ...runView(), runId: 'run_1' }],
  ])('still refuses %s', (_name, reply) => {
    expect(lenient(runViewSchema).safeParse(reply).success).toBe(false);
  });

  it('still refuses another version of the envelope, and keeps the checks of values', () => {
    const event = message(1, 'a');
    expect(lenient(agentEventSchema).safeParse({ ...event, schemaVersion: '2' }).success).toBe(
      false,
    );
    expect(lenient(agentEventSchema).safeParse({ ...event, sequence: 0 }).success).toBe(false);
  });

  it('can read every payload of the contract', () => {
    const { payload } = PLATFORM_EVENTS['tool.completed'];
    const tool = {
      toolCallId: 't',
      kind: 'command',
      name: 'sh',
      summary: 's',
      status: 'completed',
      changes: [{ path: 'a', kind: 'add' }],
    };
    const newer = { ...tool, changes: [{ path: 'a', kind: 'add', lines: 4 }], cpuMs: 3 };
    expect(lenient(payload).parse(newer)).toEqual(tool);
  });
});
