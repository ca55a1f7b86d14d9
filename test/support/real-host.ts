import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { chmod, mkdtemp, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { localTestNativeAdapter } from '#shared/engines/local-test/adapter.ts';
import { detectSandbox, removeTree } from '#shared/process/index.ts';
import {
  DEFAULT_HOST_LIMITS,
  GatewayClient,
  type HostLimits,
  type HostOptions,
  openDiskSpool,
  runHost,
  superviseEngines,
} from '#shared/runtime/index.ts';
import type { HostGateway } from './host-gateway.ts';

const PROGRAMS = join(import.meta.dirname, '../../containers');
/** Not below /tmp, of which a sandbox shows its own. */
const RUNS = '/var/tmp';

export type HostTuning = Pick<HostOptions, 'waiting'> &
  Partial<Pick<HostLimits, 'graceMs' | 'spoolBytes' | 'outputBytes'>>;

/** Runs real hosts with real engine processes, and gives their scripts doors: a script waits until the test opens one. */
export async function openHosts(gateway: HostGateway) {
  const { sandbox } = await detectSandbox({ platform: process.platform });
  const root = await mkdtemp(join(RUNS, 'hosts-'));
  await chmod(root, 0o711);
  const spoolParent = await mkdtemp(join(RUNS, 'spools-'));
  const faults: unknown[] = [];
  const stopping: AbortController[] = [];
  const clock = gateway.hostClock;

  return {
    /** What hosts told their log. */
    faults,
    /** One call is one task's life. */
    start(ticket: string, options: HostTuning = {}) {
      const { waiting, ...own } = options;
      const limits = { ...DEFAULT_HOST_LIMITS, graceMs: 1_000, ...own };
      const taskStopping = new AbortController();
      stopping.push(taskStopping);
      const ended = runHost({
        gateway: new GatewayClient({ baseUrl: gateway.url, clock, retryForMs: 1_000 }),
        ticket,
        hostInstanceId: `host-${stopping.length.toString().padStart(8, '0')}`,
        hostVersion: '1',
        sandbox: sandbox.kind,
        startEngine: superviseEngines({
          adapters: { 'local_test/native/v1': localTestNativeAdapter },
          locations: {
            programsRoot: PROGRAMS,
            nodePath: process.execPath,
            platform: process.platform,
            arch: process.arch,
          },
          sandbox,
          workRoot: root,
          limits,
          clock,
          secrets: [ticket],
        }),
        spool: { store: openDiskSpool(spoolParent), bytes: limits.spoolBytes },
        ...(waiting ? { waiting } : {}),
        hostRssBytes: () => process.memoryUsage.rss(),
        clock,
        onFault: (error) => faults.push(error),
        taskStopping: taskStopping.signal,
      });
      return { ended, terminate: () => taskStopping.abort() };
    },
    /** Lets a script pass its `door`. */
    async open(runId: string, door: string) {
      await writeFile(join(root, runId, 'work', door), '');
    },
    /** Whether a script has left a mark. */
    marked: (runId: string, mark: string) => existsSync(join(root, runId, 'work', mark)),
    /** Processes of engines of these hosts that are alive. */
    engines: () => processesIn(root),
    /** Files of events that wait on disk. */
    spooled: () =>
      readdirSync(spoolParent).flatMap((folder) => readdirSync(join(spoolParent, folder))),
    spoolFolders: () => readdirSync(spoolParent).map((folder) => join(spoolParent, folder)),
    async close() {
      await removeTree(root);
      await removeTree(spoolParent);
    },
  };
}
export type Hosts = Awaited<ReturnType<typeof openHosts>>;

/** A step that waits until the test opens the door. */
export function door(name: string) {
  return { command: `until [ -e ${name} ]; do sleep 0.02; done` };
}

/** A step that the test can see from outside. */
export function mark(name: string) {
  return { command: `: > ${name}` };
}

/** Whose environment names the folder, as HOME does. */
function processesIn(folder: string): number[] {
  const read = (pid: string, file: string) => {
    try {
      return readFileSync(`/proc/${pid}/${file}`, 'latin1');
    } catch {
      return '';
    }
  };
  return readdirSync('/proc')
    .filter((name) => /^[0-9]+$/.test(name) && !/\) [ZX] /.test(read(name, 'stat')))
    .filter((pid) => read(pid, 'environ').includes(folder))
    .map(Number);
}
