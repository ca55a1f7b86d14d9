import {
  mkdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const POLL_MS = 250;
const HEARTBEAT_MS = 1_000;
/** After so long without a touch a holder of another host is gone: its processes cannot be asked. */
const SILENT_ELSEWHERE_MS = 15_000;
/** A holder of this host whose processes live may be stopped for a while; ids are also used again. */
const SILENT_HERE_MS = 3 * 60_000;
const GIVE_UP_MS = 15 * 60_000;

/**
 * Runs `work` while holding the lock file: one process at a time among those that share the folder,
 * other hosts and containers included. Its holder touches the file every second. A holder of this
 * host is replaced once its processes are dead, a holder of another host after 15 silent seconds.
 *
 * @template T
 * @param {string} path absolute path of the lock file; its folder is made
 * @param {{
 *   onWait: (holder: string) => void,
 *   work: (holdFor: (pid: number) => void) => Promise<T>,
 * }} options `onWait` is called once, with a process id, when another process holds the lock.
 *   `holdFor` names a process that does the work: the lock is kept while it lives, even when this
 *   process is killed.
 * @returns {Promise<T>}
 */
export async function withInstallLock(path, { onWait, work }) {
  mkdirSync(dirname(path), { recursive: true });
  let token = `${hostname()} ${process.pid}`;
  await acquire(path, token, onWait);
  const release = () => {
    if (contentOf(path) === token) rmSync(path, { force: true });
  };
  const holdFor = (pid) => {
    token = `${token} ${pid}`;
    writeFileSync(path, token);
  };
  const heartbeat = setInterval(() => touch(path), HEARTBEAT_MS);
  process.once('exit', release);
  try {
    return await work(holdFor);
  } finally {
    clearInterval(heartbeat);
    process.removeListener('exit', release);
    release();
  }
}

async function acquire(path, token, onWait) {
  const giveUpAt = Date.now() + GIVE_UP_MS;
  const seen = { holder: undefined, touchedAt: 0, since: 0 };
  while (!tryCreate(path, token)) {
    const holder = contentOf(path);
    if (holder === undefined) continue; // released between our two looks
    const touchedAt = modifiedAt(path);
    if (holder !== seen.holder || touchedAt !== seen.touchedAt) {
      if (seen.holder === undefined) onWait(holder.split(' ')[1]);
      // Silence is measured by our own watch: after a suspended laptop wakes up every file is old.
      Object.assign(seen, { holder, touchedAt, since: performance.now() });
    }
    if (isDead(holder) || performance.now() - seen.since > patienceWith(holder))
      remove(path, holder);
    else await delay(POLL_MS);
    if (Date.now() > giveUpAt) throw new Error(`${path} is held for too long; remove it and retry`);
  }
}

function tryCreate(path, token) {
  try {
    writeFileSync(path, token, { flag: 'wx' });
    return true;
  } catch (error) {
    if (error.code === 'EEXIST') return false;
    throw error;
  }
}

/**
 * Renaming is atomic, so of several processes that replace one dead holder a single one moves the
 * dead file. Another may by then have moved a fresh one: it puts that back.
 */
function remove(path, deadHolder) {
  const aside = join(dirname(path), `install-lock-${process.pid}-aside`);
  try {
    renameSync(path, aside);
  } catch (error) {
    if (error.code === 'ENOENT') return;
    throw error;
  }
  if (contentOf(aside) === deadHolder) rmSync(aside, { force: true });
  else renameSync(aside, path);
}

/** True only for processes of this host which certainly no longer run. */
function isDead(holder) {
  const [host, ...pids] = holder.split(' ');
  return host === hostname() && pids.length > 0 && !pids.some(isAlive);
}

function isAlive(pid) {
  try {
    process.kill(Number(pid), 0);
    return true;
  } catch (error) {
    return error.code !== 'ESRCH';
  }
}

function patienceWith(holder) {
  return holder.startsWith(`${hostname()} `) ? SILENT_HERE_MS : SILENT_ELSEWHERE_MS;
}

function contentOf(path) {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  }
}

function modifiedAt(path) {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}

function touch(path) {
  const now = new Date();
  try {
    utimesSync(path, now, now);
  } catch (error) {
    if (error.code !== 'ENOENT') throw error;
  }
}
