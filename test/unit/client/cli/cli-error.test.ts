import { CommanderError } from 'commander';
import { describe, expect, it } from 'vitest';
import { exitCodeOf, Interrupted, reportOf, usageError } from '#client/cli/cli-error.ts';
import { ApiError, ConnectionError, ReplyError, StreamError } from '#client/client-error.ts';

const apiError = (status: number) =>
  new ApiError({ type: 'about:blank', title: 't', status, detail: 'd', code: 'c' });

describe('exitCodeOf', () => {
  it.each([
    ['wrong usage', usageError('x'), 64],
    ['Ctrl-C', new Interrupted('x'), 130],
    ['an unknown option', new CommanderError(1, 'commander.unknownOption', 'error: x'), 64],
    [
      'help that was asked for',
      new CommanderError(0, 'commander.helpDisplayed', '(outputHelp)'),
      0,
    ],
    ['no connection', new ConnectionError('x'), 69],
    ['B128 a stream without its final event', new StreamError('stream_interrupted', 'x'), 69],
    ['missing events', new StreamError('event_gap', 'x'), 69],
    ['a reply that breaks the contract', new ReplyError('x'), 70],
    ['401', apiError(401), 77],
    ['403', apiError(403), 77],
    ['400', apiError(400), 64],
    ['409', apiError(409), 64],
    ['429', apiError(429), 69],
    ['500', apiError(500), 69],
    ['503', apiError(503), 69],
    ['a fault of this program', new TypeError('x'), 70],
    ['something that is no error', 'x', 70],
  ])('%s', (_name, error, code) => {
    expect(exitCodeOf(error)).toBe(code);
    expect(reportOf(error)).toMatchObject({
      code: expect.any(String),
      message: expect.any(String),
    });
  });
});
