#!/usr/bin/env node
/** The executable: joins the CLI to this process and nothing more. */
import process from 'node:process';
import { systemClientClock } from '../client-clock.ts';
import type { CliHost } from './cli-host.ts';
import { runCli } from './run-cli.ts';

/** What a shell reports for a program that ended because its reader had gone (128 + SIGPIPE). */
const READER_GONE = 141;

const host: CliHost = {
  stdin: process.stdin,
  stdout: process.stdout,
  stderr: process.stderr,
  env: process.env,
  cwd: process.cwd(),
  userId: process.getuid?.(),
  nodeVersion: process.versions.node,
  clock: systemClientClock,
  fetch: globalThis.fetch,
  onInterrupt(listener) {
    process.on('SIGINT', listener);
    return () => process.off('SIGINT', listener);
  },
};

// `nexusdesk tail … | head` closes the pipe: nobody is left to tell.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(READER_GONE);
  throw error;
});

// Not process.exit: what was written to a pipe may still be on its way.
process.exitCode = await runCli(process.argv.slice(2), host);
