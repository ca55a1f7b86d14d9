import { createServer, type Server } from 'node:net';
import { linuxProcessIds, readProcFile } from './process-table.ts';
import { type HostUser, SandboxError } from './sandbox.ts';

/** User ids that belong to nobody else, `count` of them from `first`. The group id equals the user id. */
export interface UserRange {
  readonly first: number;
  readonly count: number;
}

/** The range that Linux distributions leave to users made on the fly. */
export const DYNAMIC_USERS: UserRange = { first: 61_184, count: 4_336 };

export interface UserClaim {
  readonly user: HostUser;
  /** Call it only when no process of the user is left. */
  release(): Promise<void>;
}

/**
 * Takes a user id for one run, so that no two runs on this machine share one: a name in the kernel's
 * abstract socket space, which disappears with the host that holds it, however that host ends. A user of
 * whom a process still lives, left by a lost host, is passed over.
 *
 * @throws SandboxError when the whole range is taken.
 */
export async function claimUser(range: UserRange): Promise<UserClaim> {
  const busy = usersWithProcesses();
  const offset = process.pid % range.count;
  for (let index = 0; index < range.count; index += 1) {
    const uid = range.first + ((offset + index) % range.count);
    if (busy.has(uid)) continue;
    const lock = await takeName(`\0nexusdesk-user-${uid}`);
    if (lock === undefined) continue;
    return {
      user: { uid, gid: uid },
      release: () => new Promise((resolve) => lock.close(() => resolve())),
    };
  }
  throw new SandboxError(`no user id is free from ${range.first}, ${range.count} in all`);
}

function takeName(name: string): Promise<Server | undefined> {
  return new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy());
    server.once('error', () => resolve(undefined));
    // A claim never keeps the host alive.
    server.listen(name, () => resolve(server.unref()));
  });
}

function usersWithProcesses(): Set<number> {
  return new Set(linuxProcessIds().flatMap((pid) => usersOf(pid)?.ids ?? []));
}

/** All user ids of a process: real, effective, saved and for files. Undefined when it is gone. */
export function usersOf(
  pid: number,
): { readonly ids: readonly number[]; readonly zombie: boolean } | undefined {
  const status = readProcFile(pid, 'status');
  if (status === undefined) return undefined;
  const ids = /^Uid:\s+(.+)$/m.exec(status)?.[1]?.split(/\s+/).map(Number) ?? [];
  return { ids: [...new Set(ids)], zombie: /^State:\s+[ZX]/m.test(status) };
}
