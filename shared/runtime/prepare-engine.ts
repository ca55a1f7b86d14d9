import { chown, mkdir, stat, writeFile } from 'node:fs/promises';
import { dirname, join, resolve, sep } from 'node:path';
import { type ClaimReply, PlatformError } from '#shared/contracts/index.ts';
import type { EngineAdapter, EngineExecution, EngineLocations } from '#shared/engines/index.ts';
import {
  createPrivateWorkdir,
  type PreparedSandbox,
  type PrivateWorkdir,
  removeTree,
  type Sandbox,
} from '#shared/process/index.ts';

export interface PreparedEngine {
  readonly workdir: PrivateWorkdir;
  readonly execution: EngineExecution;
  readonly sandbox: PreparedSandbox;
  /** Call it when nothing of the run is alive: takes the folders back and keeps only the working directory. */
  leave(): Promise<void>;
}

/**
 * Makes the private directory of this attempt, lets the adapter lay out its configuration there, and closes the
 * sandbox around it.
 *
 * @throws PlatformError of the adapter, or `workdir_unavailable`
 */
export async function prepareEngine(
  host: { sandbox: Sandbox; locations: EngineLocations; workRoot: string },
  adapter: EngineAdapter,
  claim: ClaimReply,
): Promise<PreparedEngine> {
  const { request } = claim;
  const workdir = await createPrivateWorkdir(
    host.workRoot,
    request.attempt === 1 ? request.executionId : `${request.executionId}.${request.attempt}`,
  ).catch(unavailable);
  const execution = await adapter.prepare(request, {
    locations: host.locations,
    workdir: workdir.work,
    homeDir: workdir.home,
    tempDir: workdir.tmp,
    credentials: claim.credentials,
    isolation: host.sandbox.isolates,
    writeHomeFile: (path, content) => writePrivateFile(workdir.home, path, content),
  });
  const sandbox = await host.sandbox
    .prepare({
      workdir,
      readOnly: execution.launch.readOnlyPaths,
      hidden: [],
      writable: [],
    })
    .catch(unavailable);
  return {
    workdir,
    execution,
    sandbox,
    async leave() {
      await sandbox.release();
      // The engine's home holds its configuration, and may hold a credential it did not come to read.
      await Promise.all([workdir.home, workdir.tmp].map(removeTree));
    },
  };
}

async function writePrivateFile(home: string, path: string, content: string): Promise<void> {
  const target = resolve(home, path);
  if (!target.startsWith(home + sep))
    throw new TypeError(`${path} is not below the home directory`);
  await mkdir(dirname(target), { recursive: true, mode: 0o700 });
  await writeFile(target, content, { mode: 0o600, flag: 'wx' });
  const owner = await stat(join(home));
  await chown(target, owner.uid, owner.gid);
}

function unavailable(cause: unknown): never {
  throw new PlatformError(
    'workdir_unavailable',
    `the run's private directory could not be made: ${cause instanceof Error ? cause.message : 'unknown'}`,
    { cause },
  );
}
