import { z } from 'zod';
import { capabilitySchema, errorClassSchema, errorCodeSchema } from '#shared/contracts/index.ts';

/** Vocabularies that grow with the server: an unknown word is passed on, since no client logic hangs on it. */
const OPEN_VOCABULARIES: readonly z.ZodType[] = [
  errorCodeSchema,
  errorClassSchema,
  capabilitySchema,
];

/**
 * The contract as a client reads it. The schemas are strict because the server must refuse unknown input (a field
 * that is accepted and dropped is a fault of its own), but a server may be newer than its client: here unknown fields
 * are stripped at every level and unknown error codes, error classes and capabilities pass as they are. Statuses,
 * event families and the schema version stay closed, because guessing about those would be wrong.
 */
export function lenient<T extends z.ZodType>(schema: T): T {
  return loosen(schema) as T;
}

function loosen(schema: z.ZodType): z.ZodType {
  if (OPEN_VOCABULARIES.includes(schema)) return z.string();
  if (schema instanceof z.ZodObject) return loosenObject(schema);
  if (schema instanceof z.ZodArray) {
    return schema.clone({ ...schema.def, element: loosen(schema.def.element as z.ZodType) });
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    const { def } = schema as z.ZodOptional<z.ZodType>;
    return schema.clone({ ...def, innerType: loosen(def.innerType) } as never);
  }
  if (schema instanceof z.ZodRecord) {
    return schema.clone({ ...schema.def, valueType: loosen(schema.def.valueType as z.ZodType) });
  }
  return schema;
}

function loosenObject(schema: z.ZodObject): z.ZodType {
  const shape = Object.fromEntries(
    Object.entries(schema.shape).map(([name, field]) => [name, loosen(field as z.ZodType)]),
  );
  // No catchall is what makes an object strip; strict objects carry a `never` there.
  return schema.clone({ ...schema.def, shape, catchall: undefined });
}
