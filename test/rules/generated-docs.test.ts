import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generatedDocs } from '#local/docs/generated-docs.ts';

const docs = join(import.meta.dirname, '../../docs');

it.each(Object.entries(generatedDocs()))(
  'docs/%s says what the code says (npm run docs)',
  (name, text) => {
    expect(readFileSync(join(docs, name), 'utf8')).toBe(text);
  },
);
