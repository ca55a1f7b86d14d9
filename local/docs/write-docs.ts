import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { generatedDocs } from './generated-docs.ts';

for (const [name, text] of Object.entries(generatedDocs())) {
  const file = join(import.meta.dirname, '../../docs', name);
  writeFileSync(file, text);
  console.log(`written: docs/${name}`);
}
