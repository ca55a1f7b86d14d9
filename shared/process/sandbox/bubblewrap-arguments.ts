import { lstatSync, readlinkSync, realpathSync, statSync } from 'node:fs';
import type { PrivateWorkdir } from '../workdir.ts';

/** The user that a program inside is, whoever it is outside. */
export const INSIDE_USER = { uid: 1_000, gid: 1_000, name: 'agent' } as const;

export interface BubblewrapView {
  readonly workdir: PrivateWorkdir;
  readonly readOnly: readonly string[];
  readonly hidden: readonly string[];
  readonly writable: readonly string[];
  /** Host folder behind `/dev/shm`, so that shared memory counts as files and not as the host's memory. */
  readonly sharedMemory: string;
  /** Host files shown as `/etc/passwd` and `/etc/group`. */
  readonly passwd: string;
  readonly group: string;
  readonly cwd: string;
  /** Whether this version can forbid user namespaces inside. */
  readonly disableUserNamespaces: boolean;
}

/** Programs and libraries of the system. Often links into /usr. */
const SYSTEM_FOLDERS = [
  '/usr',
  '/bin',
  '/sbin',
  '/lib',
  '/lib32',
  '/lib64',
  '/libx32',
  '/nix/store',
];
/** What programs need from /etc: names, time zone, certificates, the dynamic linker. No keys, no passwords. */
const SYSTEM_FILES = [
  '/etc/alternatives',
  '/etc/ca-certificates',
  '/etc/ca-certificates.conf',
  '/etc/host.conf',
  '/etc/hosts',
  '/etc/ld.so.cache',
  '/etc/ld.so.conf',
  '/etc/ld.so.conf.d',
  '/etc/localtime',
  '/etc/mime.types',
  '/etc/nsswitch.conf',
  '/etc/os-release',
  '/etc/pki',
  '/etc/protocols',
  '/etc/resolv.conf',
  '/etc/services',
  '/etc/ssl/certs',
  '/etc/ssl/openssl.cnf',
  '/etc/timezone',
];

interface Mount {
  readonly at: string;
  readonly options: readonly string[];
  /** Made read-only after everything is mounted: mount points are made below it first. */
  readonly sealed?: boolean;
}

/**
 * Everything before the program. The root is empty and read-only; what is not listed here does not exist
 * inside. A path has the same name inside and outside; the run's
 * temporary folder is `/tmp` too.
 */
export function bubblewrapArguments(view: BubblewrapView): string[] {
  return [
    '--unshare-user',
    '--unshare-pid',
    '--unshare-ipc',
    '--unshare-uts',
    '--unshare-cgroup-try',
    ...(view.disableUserNamespaces ? ['--disable-userns'] : []),
    ...['--uid', String(INSIDE_USER.uid), '--gid', String(INSIDE_USER.gid)],
    ...['--hostname', 'nexusdesk'],
    // The host may be killed at any time: its engines go with it.
    '--die-with-parent',
    '--new-session',
    ...['--json-status-fd', '3'],
    ...['--proc', '/proc', '--dev', '/dev'],
    ...systemMounts().flatMap((mount) => mount.options),
    ...mountOptions(withCovers(runMounts(view), view.hidden)),
    ...['--chdir', view.cwd, '--'],
  ];
}

function systemMounts(): Mount[] {
  const folders = SYSTEM_FOLDERS.flatMap((path): Mount[] => {
    const found = lstatSync(path, { throwIfNoEntry: false });
    if (found === undefined) return [];
    return [
      found.isSymbolicLink()
        ? { at: path, options: ['--symlink', readlinkSync(path), path] }
        : { at: path, options: ['--ro-bind', path, path] },
    ];
  });
  const files = SYSTEM_FILES.map((path) => ({ at: path, options: ['--ro-bind-try', path, path] }));
  return [...folders, ...files];
}

function runMounts(view: BubblewrapView): Mount[] {
  const { workdir } = view;
  const bind = (option: '--bind' | '--ro-bind', from: string, at: string): Mount => ({
    at,
    options: [option, from, at],
  });
  const shown = [
    ...view.readOnly
      .flatMap(withRealPath)
      .filter((path) => !isBelow(SYSTEM_FOLDERS, path))
      .map((path) => bind('--ro-bind', path, path)),
    ...view.writable
      .flatMap((path) => withRealPath(path))
      .map((path) => bind('--bind', path, path)),
    bind('--bind', workdir.work, workdir.work),
    bind('--bind', workdir.home, workdir.home),
  ];
  return [
    bind('--bind', workdir.tmp, '/tmp'),
    bind('--bind', workdir.tmp, workdir.tmp),
    bind('--bind', view.sharedMemory, '/dev/shm'),
    bind('--ro-bind', view.passwd, '/etc/passwd'),
    bind('--ro-bind', view.group, '/etc/group'),
    ...shown,
  ];
}

/** A link that is shown must lead somewhere: its target is shown too. */
function withRealPath(path: string): string[] {
  try {
    return [...new Set([path, realpathSync(path)])];
  } catch {
    return [path];
  }
}

/** Adds an empty folder or file over every hidden path that would be visible. */
function withCovers(mounts: readonly Mount[], hidden: readonly string[]): Mount[] {
  const shown = [...SYSTEM_FOLDERS, ...SYSTEM_FILES, ...mounts.map(({ at }) => at)];
  const visible = hidden.flatMap(withRealPath).filter((path) => isBelow(shown, path));
  return [...mounts, ...visible.flatMap(cover)];
}

function isBelow(folders: readonly string[], path: string): boolean {
  return folders.some((folder) => path === folder || path.startsWith(`${folder}/`));
}

function cover(path: string): Mount[] {
  const found = statSync(path, { throwIfNoEntry: false });
  if (found === undefined) return [];
  return [
    found.isDirectory()
      ? { at: path, options: ['--tmpfs', path], sealed: true }
      : { at: path, options: ['--ro-bind', '/dev/null', path] },
  ];
}

/** A parent before its children, else it would cover them. At one place the last one stays. */
function mountOptions(mounts: readonly Mount[]): string[] {
  const byPlace = new Map(mounts.map((mount) => [mount.at, mount]));
  const ordered = [...byPlace.values()].sort((a, b) => (a.at < b.at ? -1 : 1));
  const sealed = ordered.filter((mount) => mount.sealed === true).map((mount) => mount.at);
  return [
    ...ordered.flatMap((mount) => mount.options),
    // A writable tmpfs would be memory that no limit counts.
    ...[...sealed, '/dev', '/'].flatMap((path) => ['--remount-ro', path]),
  ];
}
