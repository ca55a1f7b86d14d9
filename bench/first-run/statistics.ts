export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined) throw new RangeError('no values');
  return middle;
}

export interface Load {
  readonly p50Ms: number;
  readonly perSecond: number;
}

/** Calls `request` `count` times with `clients` in flight. */
export async function load(
  count: number,
  clients: number,
  request: () => Promise<unknown>,
): Promise<Load> {
  const latencies: number[] = [];
  let left = count;
  const startedAt = performance.now();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      while (left > 0) {
        left -= 1;
        const sentAt = performance.now();
        await request();
        latencies.push(performance.now() - sentAt);
      }
    }),
  );
  return {
    p50Ms: median(latencies),
    perSecond: (count / (performance.now() - startedAt)) * 1000,
  };
}
