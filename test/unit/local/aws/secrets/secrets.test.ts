import { describe, expect, it } from 'vitest';
import { openStateDatabase } from '#local/aws/kit/state-database.ts';
import { openSecrets } from '#local/aws/secrets/secrets.ts';

const DAY_MS = 24 * 60 * 60_000;

/** The emulator without a socket, on a clock that tests move. */
function localSecrets(state = openStateDatabase()) {
  const clock = { now: Date.parse('2030-01-01T12:00:00Z') };
  const service = openSecrets({
    state,
    region: 'us-east-1',
    accountId: '000000000000',
    now: () => clock.now,
  });
  const call = async (name: string, input: Record<string, unknown>) => {
    const operation = service.operations[name];
    if (!operation) throw new Error(`no operation ${name}`);
    const { signal } = new AbortController();
    return (await operation(input, { signal })) as Record<string, unknown>;
  };
  return { clock, call, state };
}

describe('a secret', () => {
  it('is gone for good when its recovery window has ended', async () => {
    const { clock, call } = localSecrets();
    await call('CreateSecret', { Name: 'key', SecretString: 's1' });
    await call('DeleteSecret', { SecretId: 'key', RecoveryWindowInDays: 7 });
    clock.now += 7 * DAY_MS - 1;
    await call('DescribeSecret', { SecretId: 'key' });
    clock.now += 1;
    await expect(call('RestoreSecret', { SecretId: 'key' })).rejects.toMatchObject({
      type: 'ResourceNotFoundException',
    });
    await call('CreateSecret', { Name: 'key', SecretString: 's2' });
    expect(await call('GetSecretValue', { SecretId: 'key' })).toMatchObject({ SecretString: 's2' });
  });

  it('is still there, with its versions, when the state is opened again', async () => {
    const { call, state } = localSecrets();
    await call('CreateSecret', { Name: 'key', SecretString: 's1' });
    await call('PutSecretValue', { SecretId: 'key', SecretString: 's2' });
    const again = localSecrets(state);
    const value = (VersionStage: string) =>
      again.call('GetSecretValue', { SecretId: 'key', VersionStage });
    expect(await value('AWSCURRENT')).toMatchObject({ SecretString: 's2' });
    expect(await value('AWSPREVIOUS')).toMatchObject({ SecretString: 's1' });
  });

  it('keeps a hundred versions, and those with a label however old', async () => {
    const { clock, call } = localSecrets();
    await call('CreateSecret', { Name: 'key', SecretString: 'first' });
    await call('PutSecretValue', {
      SecretId: 'key',
      SecretString: 'kept',
      ClientRequestToken: 'labelled-'.padEnd(32, '0'),
      VersionStages: ['keep'],
    });
    for (let version = 0; version < 120; version += 1) {
      clock.now += 1;
      await call('PutSecretValue', {
        SecretId: 'key',
        SecretString: `value ${version}`,
        ClientRequestToken: `version-${version}-`.padEnd(32, '0'),
      });
    }
    const byId = (id: string) =>
      call('GetSecretValue', { SecretId: 'key', VersionId: id.padEnd(32, '0') });
    await expect(byId('version-0-')).rejects.toMatchObject({ type: 'ResourceNotFoundException' });
    expect(await byId('version-100-')).toMatchObject({ SecretString: 'value 100' });
    expect(await byId('labelled-')).toMatchObject({ SecretString: 'kept' });
  });

  it('is listed by everything that is known of it, and by what it is not', async () => {
    const { call } = localSecrets();
    await call('CreateSecret', { Name: 'a/key', Description: 'Model access' });
    await call('CreateSecret', { Name: 'b/key', Tags: [{ Key: 'team', Value: 'Red' }] });
    const list = async (Key: string, ...Values: string[]) => {
      const { SecretList } = await call('ListSecrets', { Filters: [{ Key, Values }] });
      return (SecretList as { Name: string }[]).map((each) => each.Name).sort();
    };
    expect(await list('description', 'ACCESS')).toEqual(['a/key']);
    expect(await list('all', 'red')).toEqual(['b/key']);
    expect(await list('tag-key', 'team')).toEqual(['b/key']);
    expect(await list('tag-value', 'red')).toEqual([]);
    expect(await list('name', '!a/')).toEqual(['b/key']);
    await expect(list('colour', 'blue')).rejects.toThrow('Invalid filter key');
  });

  it('refuses a token that is too short, and a name with strange characters', async () => {
    const { call } = localSecrets();
    const create = (input: object) => call('CreateSecret', { SecretString: 'x', ...input });
    await expect(create({ Name: 'key', ClientRequestToken: 'short' })).rejects.toThrow('32-64');
    await expect(create({ Name: 'with space' })).rejects.toThrow('Invalid name');
  });
});
