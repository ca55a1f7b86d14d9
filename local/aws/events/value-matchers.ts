import { BlockList, isIP } from 'node:net';
import { invalidPattern } from './pattern-error.ts';

/** Whether one value of an event fits one element of a pattern's array. */
export type ValueTest = (value: unknown) => boolean;

type Compile = (operand: unknown) => ValueTest;

const NUMERIC_LIMIT = 5e9;

/** Compiles an element of a pattern's array, but not `exists`, which is about fields rather than values. */
export function compileElement(element: unknown): ValueTest {
  if (element === null || typeof element !== 'object') return (value) => value === element;
  const entries = Object.entries(element);
  const [entry] = entries;
  if (Array.isArray(element) || !entry || entries.length > 1) {
    throw invalidPattern('Only one key allowed in match expression');
  }
  const [operator, operand] = entry;
  const compile = OPERATORS[operator];
  if (!compile) throw invalidPattern(`Unrecognized match type ${operator}`);
  return compile(operand);
}

const OPERATORS: Readonly<Record<string, Compile>> = {
  prefix: (operand) => affix('prefix', operand, (text, part) => text.startsWith(part)),
  suffix: (operand) => affix('suffix', operand, (text, part) => text.endsWith(part)),
  'equals-ignore-case': (operand) => {
    const wanted = textOf('equals-ignore-case', operand).toLowerCase();
    return onText((text) => text.toLowerCase() === wanted);
  },
  wildcard: (operand) => {
    const expression = wildcardExpression(textOf('wildcard', operand));
    return onText((text) => expression.test(text));
  },
  numeric,
  cidr,
  'anything-but': anythingBut,
};

function affix(
  name: string,
  operand: unknown,
  fits: (text: string, part: string) => boolean,
): ValueTest {
  if (typeof operand === 'string') return onText((text) => fits(text, operand));
  const inner = soleEntry(operand);
  if (inner?.[0] !== 'equals-ignore-case') {
    throw invalidPattern(`${name} match pattern must be a string`);
  }
  const part = textOf(name, inner[1]).toLowerCase();
  return onText((text) => fits(text.toLowerCase(), part));
}

/** `*` stands for any characters; a backslash takes the meaning from `*` and itself, and from nothing else. */
function wildcardExpression(pattern: string): RegExp {
  if (/(?<!\\)(\\\\)*\*\*/.test(pattern)) {
    throw invalidPattern(`Consecutive wildcard characters at pos ${pattern.indexOf('**')}`);
  }
  if (/(?<!\\)(\\\\)*\\(?![\\*])/.test(pattern)) {
    throw invalidPattern(`Invalid escape character at pos ${pattern.indexOf('\\')}`);
  }
  const source = pattern.replace(/\\[\\*]|\*|[^\\*]+/g, (part) => {
    if (part === '*') return '.*';
    const literal = part.startsWith('\\') ? part.slice(1) : part;
    return literal.replace(/[\\^$.*+?()[\]{}|/-]/g, '\\$&');
  });
  return new RegExp(`^${source}$`, 's');
}

const COMPARISONS: Readonly<Record<string, (value: number, bound: number) => boolean>> = {
  '=': (value, bound) => value === bound,
  '<': (value, bound) => value < bound,
  '<=': (value, bound) => value <= bound,
  '>': (value, bound) => value > bound,
  '>=': (value, bound) => value >= bound,
};

/** One comparison, or a lower bound followed by an upper one. */
function numeric(operand: unknown): ValueTest {
  if (!Array.isArray(operand) || operand.length === 0) {
    throw invalidPattern('Value of numeric must be an array.');
  }
  const tests: ((value: number) => boolean)[] = [];
  for (let index = 0; index < operand.length; index += 2) {
    const operator = String(operand[index]);
    const bound: unknown = operand[index + 1];
    const compare = COMPARISONS[operator];
    if (!compare) throw invalidPattern(`Unrecognized numeric range operator: ${operator}`);
    if (typeof bound !== 'number') throw invalidPattern(`Value of ${operator} must be numeric`);
    if (Math.abs(bound) > NUMERIC_LIMIT) {
      throw invalidPattern(`Value must be between -${NUMERIC_LIMIT} and ${NUMERIC_LIMIT}`);
    }
    if (index > 0 && !(String(operand[0]).startsWith('>') && operator.startsWith('<'))) {
      throw invalidPattern(`Bad numeric range operator: ${operator}`);
    }
    if (index > 2) throw invalidPattern('Too many terms in numeric range expression');
    tests.push((value) => compare(value, bound));
  }
  return (value) => typeof value === 'number' && tests.every((test) => test(value));
}

function cidr(operand: unknown): ValueTest {
  const [address = '', bits] = textOf('cidr', operand).split('/');
  const family = isIP(address);
  const width = family === 6 ? 128 : 32;
  if (!family || !/^\d{1,3}$/.test(bits ?? '') || Number(bits) > width) {
    throw invalidPattern(`Malformed CIDR, one '/' required`);
  }
  const block = new BlockList();
  block.addSubnet(address, Number(bits), family === 6 ? 'ipv6' : 'ipv4');
  return onText(
    (text) => isIP(text) === family && block.check(text, family === 6 ? 'ipv6' : 'ipv4'),
  );
}

/** Everything except the operand; a value of another type is something else, so it matches. */
function anythingBut(operand: unknown): ValueTest {
  if (typeof operand === 'object' && operand !== null && !Array.isArray(operand)) {
    return anythingButText(operand);
  }
  const values = Array.isArray(operand) ? operand : [operand];
  const types = new Set(values.map((value) => typeof value));
  const sameType = types.size === 1 && (types.has('string') || types.has('number'));
  if (values.length === 0 || !sameType) {
    throw invalidPattern('Value of anything-but must be an array or single string/number value.');
  }
  return (value) => !values.includes(value);
}

const TEXT_EXCEPTIONS = ['prefix', 'suffix', 'equals-ignore-case', 'wildcard'];

function anythingButText(operand: object): ValueTest {
  const [operator, inner] = soleEntry(operand) ?? ['', undefined];
  const compile = TEXT_EXCEPTIONS.includes(operator) ? OPERATORS[operator] : undefined;
  if (!compile) throw invalidPattern(`Unsupported anything-but pattern: ${operator}`);
  const texts = (Array.isArray(inner) ? inner : [inner]).map((text) => textOf(operator, text));
  const mayBeEmpty = operator === 'equals-ignore-case' || operator === 'wildcard';
  if (texts.length === 0 || (!mayBeEmpty && texts.includes(''))) {
    throw invalidPattern('Null prefix/suffix not allowed');
  }
  const tests = texts.map((text) => compile(text));
  return (value) => !tests.some((test) => test(value));
}

const onText =
  (test: (text: string) => boolean): ValueTest =>
  (value) =>
    typeof value === 'string' && test(value);

function textOf(name: string, operand: unknown): string {
  if (typeof operand === 'string') return operand;
  throw invalidPattern(`${name} match pattern must be a string`);
}

function soleEntry(value: unknown): [string, unknown] | undefined {
  if (value === null || typeof value !== 'object' || Array.isArray(value)) return undefined;
  const entries = Object.entries(value);
  return entries.length === 1 ? entries[0] : undefined;
}
