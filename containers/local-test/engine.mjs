#!/usr/bin/env node
/**
 * The scripted test engine: reads one JSON document from stdin, does the steps of its script one after the other
 * and prints one JSON record a line. It has no dependencies and decides nothing by itself.
 * Its steps are documented in shared/engines/local-test/script.ts.
 */
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdirSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';

const VERSION = '1.0.0';
const STDOUT = 1;
const STDERR = 2;
const POLITE_SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'];
const FLOOD_PIECE = 1_000;
const KEEP_ALIVE_MS = 60_000;

let lastLine = '';
let nextId = 0;
let lastSaid = null;
const delayed = [];
const held = [];

/** Synchronous, so that a crash right behind it loses nothing. A full pipe that does not block is tried again. */
function write(fd, data) {
  const bytes = Buffer.from(data);
  for (let done = 0; done < bytes.length; ) {
    try {
      done += writeSync(fd, bytes, done);
    } catch (error) {
      if (error.code === 'EPIPE') process.exit(141);
      if (error.code !== 'EAGAIN') throw error;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5);
    }
  }
}

function emit(record) {
  lastLine = `${JSON.stringify(record)}\n`;
  write(STDOUT, lastLine);
}

const newId = (prefix) => `${prefix}_${nextId++}`;

const steps = {
  async say({ say, deltas }) {
    const id = newId('message');
    for (const [seq, text] of pieces(say, deltas ?? 0).entries()) {
      emit({ type: 'delta', id, seq, text });
      // Lets each piece be read on its own, as from a model that is still thinking.
      await delay(1);
    }
    emit({ type: 'message', id, text: say });
    lastSaid = say;
  },

  tool({ tool }) {
    const { status, output, exitCode, order, ...call } = tool;
    const id = newId('tool');
    const start = () => emit({ type: 'tool.started', id, ...call });
    const end = () => {
      if (status !== 'open') {
        emit({ type: 'tool.completed', id, ...call, status, output, exitCode });
      }
    };
    if (order === 'normal') start();
    end();
    if (order === 'reversed') start();
  },

  async command({ command }, { allowed }) {
    const call = { id: newId('tool'), kind: 'command', name: 'shell', summary: command };
    if (!allowed.commands) return decline(call);
    emit({ type: 'tool.started', ...call });
    const child = spawn('/bin/sh', ['-c', command], { stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (text) => {
        output += text;
      });
    }
    const code = await new Promise((done) => child.on('close', done));
    const status = code === 0 ? 'completed' : 'failed';
    emit({ type: 'tool.completed', ...call, status, output, exitCode: code ?? undefined });
  },

  file({ file }, { allowed }) {
    const summary = `add ${file.path}`;
    const call = { id: newId('tool'), kind: 'file_change', name: 'write_file', summary };
    if (!allowed.fileChanges) return decline(call);
    emit({ type: 'tool.started', ...call });
    const target = resolve(file.path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, file.content);
    const changes = [{ path: file.path, kind: 'add' }];
    emit({ type: 'tool.completed', ...call, status: 'completed', changes });
  },

  usage({ usage }) {
    emit({ type: 'usage', usage });
  },

  async wait({ wait }) {
    if (wait !== 'forever') return delay(wait);
    setInterval(() => {}, KEEP_ALIVE_MS);
    return new Promise(() => {});
  },

  ignoreSignals() {
    for (const signal of POLITE_SIGNALS) process.on(signal, () => {});
  },

  async spawnDaemon({ spawnDaemon: { count, lifetimeMs, orphan } }) {
    // Ignored signals stay ignored over exec and in children.
    const daemon = `trap '' HUP INT TERM; exec sleep ${Math.ceil(lifetimeMs / 1000)}`;
    const script = orphan ? `(${daemon}) &` : daemon;
    for (let i = 0; i < count; i++) {
      // Detached: a session and a process group of its own, which no signal to ours reaches.
      const child = spawn('/bin/sh', ['-c', script], {
        detached: true,
        stdio: ['ignore', 'inherit', 'inherit'],
      });
      await new Promise((done, failed) =>
        child.once(orphan ? 'exit' : 'spawn', done).once('error', failed),
      );
      child.unref();
    }
  },

  crash({ crash }) {
    if (typeof crash === 'number') process.exit(crash);
    process.kill(process.pid, crash);
    return new Promise(() => {});
  },

  garbage({ garbage, encoding, newline }) {
    write(STDOUT, Buffer.from(garbage, encoding));
    if (newline) write(STDOUT, '\n');
  },

  duplicate() {
    write(STDOUT, lastLine);
  },

  delayed({ delayed: text }) {
    delayed.push({ type: 'message', id: newId('message'), text });
  },

  flood({ flood, newline }) {
    const filler = 'x'.repeat(FLOOD_PIECE);
    const record = `${JSON.stringify({ type: 'filler', text: filler })}\n`;
    const piece = Buffer.from(newline ? record : filler);
    for (let left = flood; left > 0; left -= piece.length) {
      write(STDOUT, newline ? piece : piece.subarray(0, Math.min(left, piece.length)));
    }
    if (!newline) write(STDOUT, '\n');
  },

  memory({ memory }) {
    const piece = 16 * 1024 * 1024;
    // Filled with something: memory that was never written to is not really there.
    for (let left = memory; left > 0; left -= piece)
      held.push(Buffer.alloc(Math.min(left, piece), 1));
  },

  stderr({ stderr }) {
    write(STDERR, stderr);
  },

  fail({ fail }) {
    emit({ type: 'failed', message: fail });
    finish(1);
  },

  complete({ complete }) {
    emit({ type: 'completed', output: complete });
    finish(0);
  },
};

function decline(call) {
  emit({ type: 'tool.completed', ...call, status: 'declined' });
}

function pieces(text, count) {
  const characters = [...text];
  const size = Math.max(1, Math.ceil(characters.length / Math.max(1, count)));
  const found = [];
  for (let i = 0; count > 0 && i < characters.length; i += size) {
    found.push(characters.slice(i, i + size).join(''));
  }
  return found;
}

function finish(code) {
  for (const record of delayed) emit(record);
  process.exit(code);
}

async function readInput() {
  const chunks = [];
  for await (const chunk of process.stdin) chunks.push(chunk);
  return Buffer.concat(chunks);
}

const bytes = await readInput();
const input = JSON.parse(bytes.toString('utf8'));
// The same input is the same session: nothing of a run depends on chance.
const session = createHash('sha256').update(bytes).digest('hex').slice(0, 16);
emit({ type: 'ready', sessionId: `local-test-${session}`, version: VERSION });
for (const step of input.script) {
  const name = Object.keys(steps).find((known) => Object.hasOwn(step, known));
  if (name === undefined) throw new TypeError(`unknown step: ${Object.keys(step).join(', ')}`);
  await steps[name](step, input);
}
steps.complete({ complete: lastSaid });
