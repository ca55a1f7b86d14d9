/**
 * Imports bundles as Lambda would, each with the variables that it is given, and prints what they export. Reads
 * `[{ name, file, environment }]` from the file in its argument, prints `{ [name]: typeof handler | error }`.
 */
import { readFileSync } from 'node:fs';
import { pathToFileURL } from 'node:url';

interface Bundle {
  readonly name: string;
  readonly file: string;
  readonly environment: Readonly<Record<string, string>>;
}

const [, , list = ''] = process.argv;
const bundles = JSON.parse(readFileSync(list, 'utf8')) as readonly Bundle[];
// What Lambda's runtime puts there.
Object.assign(globalThis, { awslambda: { streamifyResponse: (handler: unknown) => handler } });

const inherited = { ...process.env };
const found: Record<string, string> = {};
for (const { name, file, environment } of bundles) {
  process.env = { ...inherited, ...environment };
  found[name] = await import(pathToFileURL(file).href).then(
    (bundle: { handler?: unknown }) => typeof bundle.handler,
    (error: unknown) => String(error),
  );
}
console.log(JSON.stringify(found));
process.exit(0);
