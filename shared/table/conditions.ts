/**
 * DynamoDB expressions as values. A {@link Condition} is written once, named after what it means, and combined with
 * {@link all}; placeholders are given out when it is rendered, so conditions can never clash.
 */
export type Condition = (scope: ExpressionScope) => string;

export class ExpressionScope {
  readonly #names = new Map<string, string>();
  readonly #values: unknown[] = [];

  name(attribute: string): string {
    const known = this.#names.get(attribute);
    if (known) return known;
    const placeholder = `#n${this.#names.size}`;
    this.#names.set(attribute, placeholder);
    return placeholder;
  }

  value(value: unknown): string {
    this.#values.push(value);
    return `:v${this.#values.length - 1}`;
  }

  get names(): Record<string, string> {
    return Object.fromEntries([...this.#names].map(([attribute, name]) => [name, attribute]));
  }

  get values(): Record<string, unknown> {
    return Object.fromEntries(this.#values.map((value, index) => [`:v${index}`, value]));
  }
}

export const absent =
  (attribute: string): Condition =>
  (scope) =>
    `attribute_not_exists(${scope.name(attribute)})`;

export const equals =
  (attribute: string, value: unknown): Condition =>
  (scope) =>
    `${scope.name(attribute)} = ${scope.value(value)}`;

export const below =
  (attribute: string, value: unknown): Condition =>
  (scope) =>
    `${scope.name(attribute)} < ${scope.value(value)}`;

export const atLeast =
  (attribute: string, value: unknown): Condition =>
  (scope) =>
    `${scope.name(attribute)} >= ${scope.value(value)}`;

export const startsWith =
  (attribute: string, prefix: string): Condition =>
  (scope) =>
    `begins_with(${scope.name(attribute)}, ${scope.value(prefix)})`;

export const between =
  (attribute: string, low: unknown, high: unknown): Condition =>
  (scope) =>
    `${scope.name(attribute)} BETWEEN ${scope.value(low)} AND ${scope.value(high)}`;

export const oneOf =
  (attribute: string, values: readonly unknown[]): Condition =>
  (scope) =>
    `${scope.name(attribute)} IN (${values.map((value) => scope.value(value)).join(', ')})`;

export const all =
  (...conditions: readonly Condition[]): Condition =>
  (scope) =>
    conditions.map((condition) => `(${condition(scope)})`).join(' AND ');

export const any =
  (...conditions: readonly Condition[]): Condition =>
  (scope) =>
    conditions.map((condition) => `(${condition(scope)})`).join(' OR ');

/** What an update does to an item. `undefined` in `set` leaves the attribute as it is. */
export interface Change {
  readonly set?: Readonly<Record<string, unknown>>;
  /** Set only when the attribute is not there yet. */
  readonly setOnce?: Readonly<Record<string, unknown>>;
  readonly add?: Readonly<Record<string, number>>;
  readonly remove?: readonly string[];
}

export function renderChange(change: Change, scope: ExpressionScope): string {
  const set = Object.entries(change.set ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([attribute, value]) => `${scope.name(attribute)} = ${scope.value(value)}`);
  const once = Object.entries(change.setOnce ?? {})
    .filter(([, value]) => value !== undefined)
    .map(([attribute, value]) => {
      const name = scope.name(attribute);
      return `${name} = if_not_exists(${name}, ${scope.value(value)})`;
    });
  const add = Object.entries(change.add ?? {}).map(
    ([attribute, value]) => `${scope.name(attribute)} ${scope.value(value)}`,
  );
  const remove = (change.remove ?? []).map((attribute) => scope.name(attribute));
  return [
    set.length + once.length ? `SET ${[...set, ...once].join(', ')}` : '',
    add.length ? `ADD ${add.join(', ')}` : '',
    remove.length ? `REMOVE ${remove.join(', ')}` : '',
  ]
    .filter(Boolean)
    .join(' ');
}
