import { join, resolve } from 'node:path';
import { parseArgs, styleText } from 'node:util';
import { installEngine } from '#local/engines/install-engine.ts';
import { runDemo } from '#local/stack/demo.ts';
import { startStack } from '#local/stack/stack.ts';

const USAGE = `npm start                          start the platform, run one demo run, keep serving
npm start -- --once                end after the demo run, with its outcome as exit code
npm start -- --no-demo             only serve
npm start -- engines install codex install an engine's program, and nothing else

  --data <folder>   where everything is kept (default .nexusdesk, or NEXUSDESK_DATA)
  --port <port>     of the API (default: the one used before, else 4520 or a free one)`;

const projectRoot = resolve(import.meta.dirname, '..');

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      once: { type: 'boolean', default: false },
      'no-demo': { type: 'boolean', default: false },
      data: { type: 'string' },
      port: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return 0;
  }
  if (positionals.length > 0) return installOnly(positionals);

  await install('codex');
  const stack = await startStack({
    projectRoot,
    dataDir: values.data ?? process.env.NEXUSDESK_DATA ?? join(projectRoot, '.nexusdesk'),
    port: values.port === undefined ? undefined : parsePort(values.port),
    env: process.env,
  });
  const stopped = stopOnSignal(() => stack.close());
  console.log(`${styleText('bold', 'NexusDesk')} is up at ${stack.url}`);
  console.log(`  model  ${stack.model.label}`);
  console.log(`  data   ${stack.dataDir}`);
  console.log(`  log    ${stack.logFile}`);
  const exitCode = values['no-demo'] ? 0 : await runDemo(stack);
  if (values.once) {
    await stack.close();
    return exitCode;
  }
  console.log(`
Submit the next run from another terminal:
  npx nexusdesk run -e codex "write a haiku about queues into haiku.md"
  npx nexusdesk runs · npx nexusdesk tail <run> · npx nexusdesk cancel <run> · npx nexusdesk doctor
Ctrl-C stops the platform; what it has stored stays.`);
  return stopped;
}

async function installOnly(positionals: string[]): Promise<number> {
  const [what, action, name, ...rest] = positionals;
  if (what !== 'engines' || action !== 'install' || !name || rest.length > 0) {
    console.error(USAGE);
    return 64;
  }
  await install(name);
  return 0;
}

async function install(folder: string): Promise<void> {
  await installEngine(folder, {
    root: join(projectRoot, 'containers'),
    onProgress: (line) => console.log(line),
  });
}

function parsePort(text: string): number {
  const port = /^[0-9]{1,5}$/.test(text) ? Number(text) : Number.NaN;
  if (!(port >= 1 && port <= 65_535)) throw new Error(`--port must be 1 to 65535, not ${text}`);
  return port;
}

/** Resolves with the exit code once a signal has stopped everything; a second signal does not wait. */
function stopOnSignal(close: () => Promise<void>): Promise<number> {
  return new Promise((resolvePromise) => {
    let asked = false;
    const onSignal = () => {
      if (asked) process.exit(130);
      asked = true;
      console.log('\nstopping: running tasks are asked to end; press Ctrl-C again not to wait');
      void close().then(() => resolvePromise(0));
    };
    process.on('SIGINT', onSignal);
    process.on('SIGTERM', onSignal);
  });
}

try {
  process.exitCode = await main();
  process.exit();
} catch (error) {
  console.error(`nexusdesk: ${error instanceof Error ? error.message : String(error)}`);
  if (process.env.NEXUSDESK_DEBUG) console.error(error);
  process.exit(70);
}
