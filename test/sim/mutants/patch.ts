import { registerHooks } from 'node:module';
import { MUTANTS } from './list.ts';

/**
 * Preloaded into a simulation: breaks one guard of the code under test, as its source is loaded. The text that it
 * replaces must be there exactly once; a guard that has moved is an error, never a mutant that changes nothing.
 */
const name = process.env.SIM_MUTANT;
const mutant = MUTANTS.find((candidate) => candidate.name === name);
if (!mutant) throw new Error(`there is no mutant ${name}`);

const target = new URL(`../../../${mutant.file}`, import.meta.url).href;
let loaded = false;

registerHooks({
  load(url, context, nextLoad) {
    const answer = nextLoad(url, context);
    if (url !== target) return answer;
    const source = String(Buffer.from(answer.source as Uint8Array));
    const parts = source.split(mutant.replaces);
    if (parts.length !== 2) {
      throw new Error(`${mutant.name}: its text is ${parts.length - 1} times in ${mutant.file}`);
    }
    loaded = true;
    return { ...answer, source: parts.join(mutant.by) };
  },
});

process.on('exit', () => {
  if (!loaded) {
    console.error(`${mutant.name}: ${mutant.file} was never loaded`);
    process.exitCode = 3;
  }
});
