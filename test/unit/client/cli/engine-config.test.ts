import { describe, expect, it } from 'vitest';
import { CliError } from '#client/cli/cli-error.ts';
import { engineConfig } from '#client/cli/engine-config.ts';

describe('engineConfig', () => {
  it('is left out when no option was given', () => {
    expect(engineConfig(undefined, [])).toBeUndefined();
    expect(engineConfig('{}', [])).toEqual({});
  });

  it('takes values as JSON where they are JSON, else as text; later ones win', () => {
    const settings = [
      ...['model=some-5', 'turns=5', 'strict=true', 'note="5"', 'list=["a"]', 'empty=', 'eq=a=b'],
      ...['nested.a=1', 'nested.b.c=x', 'turns=6'],
    ];
    expect(engineConfig('{"model":"x","nested":{"a":0,"z":1}}', settings)).toEqual({
      model: 'some-5',
      turns: 6,
      strict: true,
      note: '5',
      list: ['a'],
      empty: '',
      eq: 'a=b',
      nested: { a: 1, b: { c: 'x' }, z: 1 },
    });
  });

  it.each(['not json', '[]', '"x"', '5', 'null', ''])('refuses --config %j', (json) => {
    expect(() => engineConfig(json, [])).toThrow(CliError);
  });

  it.each(['novalue', '=x', 'a..b=1', '.a=1', 'a.=1', ''])('refuses --set %j', (setting) => {
    expect(() => engineConfig(undefined, [setting])).toThrow(CliError);
  });

  it('does not write into what every object inherits', () => {
    for (const key of ['__proto__.polluted', 'constructor.prototype.polluted', '__proto__']) {
      expect(() => engineConfig(undefined, [`${key}=1`])).toThrow(CliError);
    }
    expect(({} as Record<string, unknown>).polluted).toBeUndefined();
  });

  it('refuses a key below a value that is no object', () => {
    expect(() => engineConfig('{"a":5}', ['a.b=1'])).toThrow(CliError);
    expect(() => engineConfig('{"a":[1]}', ['a.b=1'])).toThrow(CliError);
  });
});
