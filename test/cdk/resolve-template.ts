export type JsonValue =
  | string
  | number
  | boolean
  | null
  | readonly JsonValue[]
  | { readonly [key: string]: JsonValue };
export type JsonObject = { readonly [key: string]: JsonValue };

/** Values of exports by name, in the words of the stack that exports them. */
export type Exports = ReadonlyMap<string, string>;

const PSEUDO: Readonly<Record<string, string>> = {
  'AWS::AccountId': 'ACCOUNT',
  'AWS::Partition': 'aws',
  'AWS::URLSuffix': 'amazonaws.com',
  'AWS::NoValue': 'NOVALUE',
};

/**
 * A template with its intrinsic functions replaced by readable text: `state/Table1.Arn` is that attribute of that
 * resource, also where another stack imports it. So tests compare text, whichever way a value travels.
 */
export function resolveTemplate(
  template: JsonObject,
  scope: { readonly stack: string; readonly region: string; readonly exports: Exports },
): JsonObject {
  const pseudo: Record<string, string> = { ...PSEUDO, 'AWS::Region': scope.region };

  const text = (value: JsonValue): string => {
    const resolved = walk(value);
    return typeof resolved === 'string' ? resolved : JSON.stringify(resolved);
  };
  const intrinsics: Record<string, (argument: JsonValue) => string> = {
    Ref: (name) => pseudo[String(name)] ?? `${scope.stack}/${String(name)}`,
    'Fn::GetAtt': (path) => `${scope.stack}/${(path as readonly string[]).join('.')}`,
    'Fn::Join': (argument) => {
      const [separator, parts] = argument as readonly [string, readonly JsonValue[]];
      return parts.map(text).join(separator);
    },
    'Fn::Sub': (source) =>
      String(source).replace(/\$\{([^}]+)\}/g, (_, name: string) => pseudo[name] ?? name),
    'Fn::ImportValue': (name) => {
      const value = scope.exports.get(text(name));
      if (value === undefined) throw new Error(`${scope.stack} imports ${text(name)} from nowhere`);
      return value;
    },
    'Fn::GetAZs': () => 'AZS',
    // Attributes have no value yet that could be split: what stays is where the part comes from.
    'Fn::Split': (argument) => text((argument as readonly JsonValue[])[1] ?? ''),
    'Fn::Select': (argument) => {
      const [index, list] = argument as readonly [number, JsonValue];
      return `${text(list)}[${index}]`;
    },
  };
  const walk = (value: JsonValue): JsonValue => {
    if (Array.isArray(value)) return value.map(walk);
    if (value === null || typeof value !== 'object') return value;
    const entries = Object.entries(value);
    const [only] = entries;
    if (only && entries.length === 1) {
      const [name, argument] = only;
      const intrinsic = intrinsics[name];
      if (intrinsic) return intrinsic(argument);
      if (name.startsWith('Fn::')) throw new Error(`${scope.stack} uses ${name}, unknown here`);
    }
    return Object.fromEntries(entries.map(([name, inner]) => [name, walk(inner)]));
  };
  return walk(template) as JsonObject;
}
