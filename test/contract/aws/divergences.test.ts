import { describe, expect, it } from 'vitest';
import { type Divergence, diverges } from './divergences.ts';

const entry: Divergence = {
  title: 'counts once',
  awsIsOn: 'embedded',
  why: 'counts twice',
  symptom: /expected 2/,
};

describe('a listed divergence', () => {
  it('passes when the test fails with its symptom', async () => {
    await diverges(entry, () => expect(2).toBe(1));
  });

  it('fails when the test passes, so that a fixed divergence is removed from the list', async () => {
    await expect(diverges(entry, () => undefined)).rejects.toThrow(/no longer diverges/);
  });

  it('fails when the test fails in another way', async () => {
    await expect(diverges(entry, () => expect(3).toBe(1))).rejects.toThrow(/not by its known/);
  });

  it('does not take an unreachable reference for a divergence', async () => {
    const { symptom: _, ...anySymptom } = entry;
    const body = () => Promise.reject(new Error('connect ECONNREFUSED 127.0.0.1:1'));
    await expect(diverges(anySymptom, body)).rejects.toThrow(/not by its known/);
  });
});
