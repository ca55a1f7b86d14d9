import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { tripleName } from '#shared/contracts/index.ts';
import { ENGINE_ADAPTERS } from '#shared/engines/adapters.ts';
import { EngineRegistry, engineRegistry } from '#shared/engines/index.ts';
import { localTestNative } from '#shared/engines/local-test/descriptor.ts';

describe('REG-1 the registries', () => {
  it('resolve an adapter by its triple, or by the engine and its defaults', () => {
    const wanted = { engineId: 'codex', protocolId: 'cli_exec', adapterVersion: 'v1' };
    expect(engineRegistry.resolve(wanted).triple).toEqual(wanted);
    expect(engineRegistry.resolve({ engineId: 'codex' }).triple).toEqual(wanted);
  });

  it.each([
    [{ engineId: 'codx' }, ['codex', 'local_test']],
    [{ engineId: 'codex', protocolId: 'acp' }, ['cli_exec', 'native']],
    [{ engineId: 'codex', protocolId: 'native' }, ['codex/cli_exec/v1', 'local_test/native/v1']],
    [{ engineId: 'codex', adapterVersion: 'v9' }, ['codex/cli_exec/v1', 'local_test/native/v1']],
  ])('refuse %o and list what exists', (wanted, available) => {
    expect(() => engineRegistry.resolve(wanted)).toThrow(
      expect.objectContaining({
        code: 'unknown_engine',
        record: expect.objectContaining({ details: { available } }),
      }),
    );
  });

  it('take each name once, and an adapter only after its engine and protocol', () => {
    const registry = new EngineRegistry();
    expect(() => registry.registerAdapter(localTestNative)).toThrow(/no engine "local_test"/);
    const protocol = { protocolId: 'native', description: 'x' };
    registry.registerProtocol(protocol);
    expect(() => registry.registerProtocol(protocol)).toThrow(/registered twice/);
  });

  it('hold exactly the adapters that a host can run', () => {
    expect(Object.keys(ENGINE_ADAPTERS).sort()).toEqual(engineRegistry.adapters.names());
    for (const [name, adapter] of Object.entries(ENGINE_ADAPTERS)) {
      expect(tripleName(adapter.descriptor.triple)).toBe(name);
      expect(adapter.descriptor).toBe(engineRegistry.adapters.get(name));
    }
  });

  it('describe every configuration as a JSON Schema that knows no other field', () => {
    for (const { configSchema } of engineRegistry.adapters.all()) {
      const schema = z.toJSONSchema(configSchema, { io: 'input', unrepresentable: 'any' });
      expect(schema).toMatchObject({ type: 'object', additionalProperties: false });
      expect(configSchema.safeParse({}).success).toBe(true);
      expect(configSchema.safeParse({ nonsense: 1 }).success).toBe(false);
    }
  });

  it('parse their own output again to the same', () => {
    const config = { script: [{ garbage: 'x' }, { tool: { name: 't' } }, { spawnDaemon: {} }] };
    const once = localTestNative.configSchema.parse(config);
    expect(localTestNative.configSchema.parse(once)).toEqual(once);
  });
});
