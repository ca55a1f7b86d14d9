import { invalidPattern } from './pattern-error.ts';
import { compileElement, type ValueTest } from './value-matchers.ts';

/** Whether an event, as parsed JSON, fits a pattern. */
export type EventMatcher = (event: unknown) => boolean;

/** Whether the values found at a field fit; no values means that the field is absent. */
type FieldTest = (values: readonly unknown[]) => boolean;

const MAX_PATTERN_LENGTH = 4096;

/** With one of these as a field name, `$or` is not the operator but a field of that name. */
const OPERATOR_NAMES = [
  'prefix',
  'suffix',
  'equals-ignore-case',
  'wildcard',
  'numeric',
  'cidr',
  'exists',
  'anything-but',
];

/**
 * Compiles an EventBridge event pattern: every field has to fit, one element of its array is enough, and
 * `$or` holds alternatives. Throws `InvalidEventPatternException`.
 */
export function compileEventPattern(pattern: string): EventMatcher {
  if (pattern.length > MAX_PATTERN_LENGTH) {
    throw invalidPattern(`Pattern is longer than ${MAX_PATTERN_LENGTH} characters`);
  }
  let parsed: unknown;
  try {
    parsed = JSON.parse(pattern);
  } catch {
    throw invalidPattern('Filter is not a valid JSON');
  }
  if (!isObject(parsed)) throw invalidPattern('Filter is not an object');
  return compileObject(parsed);
}

function compileObject(pattern: Record<string, unknown>): EventMatcher {
  const tests = Object.entries(pattern).map(([name, part]) => compileField(name, part));
  if (tests.length === 0) throw invalidPattern('Empty objects are not allowed');
  return (event) => tests.every((test) => test(event));
}

function compileField(name: string, part: unknown): EventMatcher {
  if (name === '$or' && isAlternatives(part)) {
    const alternatives = part.map(compileObject);
    return (event) => alternatives.some((fits) => fits(event));
  }
  if (Array.isArray(part)) {
    const fits = compileValues(part);
    return (event) => fits(valuesAt(event, name));
  }
  if (isObject(part)) {
    const fits = compileObject(part);
    return (event) => {
      const inner = isObject(event) ? event[name] : undefined;
      // One element of an array has to fit as a whole: fields of different elements do not add up.
      return Array.isArray(inner) ? inner.some((element) => fits(element)) : fits(inner);
    };
  }
  throw invalidPattern(`"${name}" must be an object or an array`);
}

function compileValues(elements: readonly unknown[]): FieldTest {
  if (elements.length === 0) throw invalidPattern('Empty arrays are not allowed');
  const tests = elements.map((element) => compileExists(element) ?? onAny(compileElement(element)));
  return (values) => tests.some((test) => test(values));
}

const onAny =
  (test: ValueTest): FieldTest =>
  (values) =>
    values.some(test);

function compileExists(element: unknown): FieldTest | undefined {
  if (!isObject(element) || !('exists' in element)) return undefined;
  const { exists, ...others } = element;
  if (Object.keys(others).length > 0) {
    throw invalidPattern('Only one key allowed in match expression');
  }
  if (typeof exists !== 'boolean')
    throw invalidPattern('exists match pattern must be true or false');
  return (values) => values.length > 0 === exists;
}

/** The values of a field: of an array its elements; an object is no leaf, so it counts as absent. */
function valuesAt(event: unknown, name: string): readonly unknown[] {
  const value = isObject(event) && Object.hasOwn(event, name) ? event[name] : undefined;
  const values = Array.isArray(value) ? value.flat(Number.POSITIVE_INFINITY) : [value];
  return values.filter((each) => each === null || (each !== undefined && typeof each !== 'object'));
}

function isAlternatives(part: unknown): part is Record<string, unknown>[] {
  return (
    Array.isArray(part) &&
    part.length > 1 &&
    part.every(isObject) &&
    !part.some((each) => Object.keys(each).some((name) => OPERATOR_NAMES.includes(name)))
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
