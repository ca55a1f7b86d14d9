/** Makes a `switch` over a union exhaustive: a new member fails to compile here. */
export function assertNever(value: never, what = 'value'): never {
  throw new TypeError(`unexpected ${what}: ${JSON.stringify(value)}`);
}
