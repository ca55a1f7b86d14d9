/** Milliseconds in each unit that a duration may be written in. */
const UNITS = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;
const DURATION = /^([1-9][0-9]{0,14})(ms|s|m|h|d)$/;

export interface Range {
  readonly min: number;
  readonly max: number;
}

/**
 * A plain decimal number and its unit: `500ms`, `90s`, `10m`, `2h`, `1d`; in milliseconds. Nothing else: no bare
 * number, fraction, exponent, sign, blank or leading zero, because each of those is read differently somewhere.
 * @returns undefined when it is not one, or outside the range
 */
export function parseDuration(text: string, range: Range): number | undefined {
  const match = DURATION.exec(text);
  if (!match) return undefined;
  const ms = Number(match[1]) * UNITS[match[2] as keyof typeof UNITS];
  return ms >= range.min && ms <= range.max ? ms : undefined;
}

/** A plain decimal integer within the range; undefined for every other spelling. */
export function parseCount(text: string, range: Range): number | undefined {
  if (!/^(0|[1-9][0-9]{0,14})$/.test(text)) return undefined;
  const count = Number(text);
  return count >= range.min && count <= range.max ? count : undefined;
}

/** The largest unit that says it exactly: 600000 is `10m`. */
export function durationText(ms: number): string {
  const units = Object.entries(UNITS).reverse();
  const [unit, size] = units.find(([, unitMs]) => ms % unitMs === 0) ?? ['ms', 1];
  return `${ms / size}${unit}`;
}
