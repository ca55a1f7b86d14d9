import type { AttributeValue } from './model.ts';

/** What dynalite's validations give its parsers, and what these mark as used in it. */
export interface ParseContext {
  readonly attrNames?: Readonly<Record<string, string>>;
  readonly attrVals?: Readonly<Record<string, AttributeValue>>;
  readonly unusedAttrNames: Record<string, unknown>;
  readonly unusedAttrVals: Record<string, unknown>;
  compare?(operator: 'GT', low: AttributeValue, high: AttributeValue): boolean;
}

/** One of dynalite's generated parsers. Answers the parsed expression, or what is wrong as text; may throw. */
export interface ExpressionParser {
  parse(text: string, options: { readonly context: ParseContext }): object | string;
}

/** A parsed expression that lacks only the values. */
interface Template {
  fill(values: Values): object;
  readonly usedNames: readonly string[];
  readonly usedValues: readonly string[];
  /** The bounds of each BETWEEN of two values. */
  readonly ranges: readonly (readonly [low: string, high: string])[];
}

type Values = Readonly<Record<string, AttributeValue>>;

/** A program has few expressions; this is for one that builds them at random. */
const MAX_TEMPLATES = 5000;

/**
 * Makes a parser remember what it parsed: these take longer than all else in a request. The outcome depends on
 * the text, what the names stand for and the types of the values, which together are looked up, and in two cases on
 * the values themselves: those of BETWEEN are compared each time, and expressions with `attribute_type` are not kept.
 * Errors are not kept either. Every answer has nodes of its own, since dynalite changes them.
 */
export function cacheParses(parser: ExpressionParser): void {
  const parse = parser.parse;
  const templates = new Map<string, Template>();
  parser.parse = (text, { context }) => {
    const key = keyOf(text, context);
    const known = templates.get(key);
    if (known && inOrder(known, context)) return filled(known, context);
    const usage = {
      unusedAttrNames: marks(context.attrNames),
      unusedAttrVals: marks(context.attrVals),
    };
    const parsed = parse(text, { context: { ...context, ...usage } });
    const template = typeof parsed === 'string' ? undefined : templateOf(parsed, context, usage);
    if (template && !text.includes('attribute_type')) {
      if (templates.size >= MAX_TEMPLATES) templates.clear();
      templates.set(key, template);
    }
    return template ? filled(template, context) : parsed;
  };
}

function keyOf(text: string, { attrNames = {}, attrVals = {} }: ParseContext): string {
  let key = text;
  for (const name of Object.keys(attrNames)) {
    const attribute = attrNames[name] ?? '';
    key += `\n${name}=${attribute.length}:${attribute}`;
  }
  for (const name of Object.keys(attrVals)) {
    for (const type in attrVals[name]) key += `\n${name}=${type}`;
  }
  return key;
}

function marks(names: object | undefined): Record<string, unknown> {
  return Object.fromEntries(Object.keys(names ?? {}).map((name) => [name, true]));
}

function inOrder({ ranges }: Template, { attrVals = {}, compare }: ParseContext): boolean {
  return ranges.every(([low, high]) => {
    const [lower, upper] = [attrVals[low], attrVals[high]];
    return lower && upper && compare && !compare('GT', lower, upper);
  });
}

function filled(template: Template, context: ParseContext): object {
  for (const name of template.usedNames) delete context.unusedAttrNames[name];
  for (const name of template.usedValues) delete context.unusedAttrVals[name];
  return template.fill(context.attrVals ?? {});
}

function templateOf(
  parsed: object,
  context: ParseContext,
  unused: Pick<ParseContext, 'unusedAttrNames' | 'unusedAttrVals'>,
): Template {
  const { attrNames = {}, attrVals = {} } = context;
  const nameOf = new Map<unknown, string>();
  for (const [name, value] of Object.entries(attrVals)) nameOf.set(value, name);
  const ranges: [string, string][] = [];
  const fill = filler(parsed, nameOf, ranges) as (values: Values) => object;
  const isUsed = (marked: object) => (name: string) => !Object.hasOwn(marked, name);
  return {
    fill,
    usedNames: Object.keys(attrNames).filter(isUsed(unused.unusedAttrNames)),
    usedValues: Object.keys(attrVals).filter(isUsed(unused.unusedAttrVals)),
    ranges,
  };
}

type Fill = (values: Values) => unknown;

/** Copies nodes and lists of them, sets values in, and shares the rest: paths and what is only looked up. */
function filler(
  part: unknown,
  nameOf: ReadonlyMap<unknown, string>,
  ranges: [string, string][],
): Fill {
  const value = nameOf.get(part);
  if (value !== undefined) return (values) => values[value];
  if (Array.isArray(part)) {
    if (part.every((member) => typeof member !== 'object')) return () => part;
    const members = part.map((member) => filler(member, nameOf, ranges));
    return (values) => members.map((member) => member(values));
  }
  if (part === null || typeof part !== 'object' || Object.getPrototypeOf(part) === null) {
    return () => part;
  }
  noteRange(part, nameOf, ranges);
  const fields = Object.entries(part).map(
    ([name, field]) => [name, filler(field, nameOf, ranges)] as const,
  );
  return (values) => {
    const copy: Record<string, unknown> = {};
    for (const [name, field] of fields) copy[name] = field(values);
    return copy;
  };
}

function noteRange(
  node: { type?: unknown; args?: unknown },
  nameOf: ReadonlyMap<unknown, string>,
  ranges: [string, string][],
): void {
  if (node.type !== 'between' || !Array.isArray(node.args)) return;
  const [low, high] = [nameOf.get(node.args[1]), nameOf.get(node.args[2])];
  if (low !== undefined && high !== undefined) ranges.push([low, high]);
}
