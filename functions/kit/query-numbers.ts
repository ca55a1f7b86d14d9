import { z } from 'zod';

/** A decimal integer as text: no sign, exponent, unit or hexadecimal (B157). */
export function integerText(options: { min: number; max: number; standard: number }) {
  return z
    .string()
    .regex(/^(0|[1-9][0-9]{0,8})$/, { error: 'must be a whole number' })
    .transform(Number)
    .pipe(z.number().min(options.min).max(options.max))
    .default(options.standard);
}
