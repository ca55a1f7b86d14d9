type Slot = readonly [read: unknown, write: (masked: unknown) => void];

/**
 * Walks without recursion: a hostile record can nest a hundred thousand arrays. A number or boolean whose
 * text is a secret is replaced by the masked text.
 */
export function maskJsonValue<T>(value: T, maskText: (text: string) => string): T {
  let result: unknown;
  const waiting: Slot[] = [
    [
      value,
      (masked) => {
        result = masked;
      },
    ],
  ];
  for (let slot = waiting.pop(); slot !== undefined; slot = waiting.pop()) {
    const [read, write] = slot;
    if (Array.isArray(read)) write(maskArray(read, waiting));
    else if (typeof read === 'object' && read !== null) write(maskObject(read, waiting, maskText));
    else write(maskScalar(read, maskText));
  }
  return result as T;
}

function maskScalar(value: unknown, maskText: (text: string) => string): unknown {
  if (typeof value === 'string') return maskText(value);
  if (typeof value !== 'number' && typeof value !== 'boolean') return value;
  const text = String(value);
  const masked = maskText(text);
  return masked === text ? value : masked;
}

function maskArray(source: readonly unknown[], waiting: Slot[]): unknown[] {
  const copy: unknown[] = new Array(source.length);
  source.forEach((item, index) => {
    waiting.push([
      item,
      (masked) => {
        copy[index] = masked;
      },
    ]);
  });
  return copy;
}

function maskObject(source: object, waiting: Slot[], maskText: (text: string) => string): object {
  const copy: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(source)) {
    const name = freeName(copy, maskText(key));
    const write = (masked: unknown): void => {
      // defineProperty, because assigning to a key named __proto__ would change the prototype instead.
      Object.defineProperty(copy, name, {
        value: masked,
        enumerable: true,
        writable: true,
        configurable: true,
      });
    };
    write(undefined);
    waiting.push([item, write]);
  }
  return copy;
}

/** Two masked keys must not swallow each other's values. */
function freeName(target: object, wanted: string): string {
  let name = wanted;
  for (let count = 2; Object.hasOwn(target, name); count += 1) name = `${wanted}#${count}`;
  return name;
}
