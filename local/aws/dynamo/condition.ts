import type { DynaliteDb, Expression, Operand, Path } from './dynalite-types.ts';
import type { AttributeValue, Item } from './model.ts';
import { sameValue } from './values.ts';

/** Whether `item` meets a condition or filter expression that dynalite parsed. A missing item is `{}`. */
export function meetsCondition(db: DynaliteDb, expression: Expression, item: Item): boolean {
  const { type, args } = expression;
  const meets = (operand: Operand | undefined) => meetsCondition(db, operand as Expression, item);
  switch (type) {
    case 'and':
      return meets(args[0]) && meets(args[1]);
    case 'or':
      return meets(args[0]) || meets(args[1]);
    case 'not':
      return !meets(args[0]);
    default: {
      const values = args.map((operand) => operandValue(operand, item));
      return holds(db, type === 'function' ? (expression.name ?? '') : type, values);
    }
  }
}

type Values = readonly (AttributeValue | undefined)[];

function holds(db: DynaliteDb, operator: string, [value, ...others]: Values): boolean {
  const [other, upper] = others;
  switch (operator) {
    case 'attribute_exists':
      return value !== undefined;
    case 'attribute_not_exists':
      return value === undefined;
    case 'attribute_type':
      return value !== undefined && typeOf(value) === other?.S;
    case 'begins_with':
      return value !== undefined && other !== undefined && beginsWith(value, other);
    case 'contains':
      return value !== undefined && other !== undefined && contains(value, other);
    case '=':
      return equal(value, other);
    case '<>':
      return !equal(value, other) && (value !== undefined || other !== undefined);
    case 'in':
      return others.some((candidate) => equal(value, candidate));
    case 'between':
      return ordered(db, other, value, true) && ordered(db, value, upper, true);
    case '<':
      return ordered(db, value, other, false);
    case '<=':
      return ordered(db, value, other, true);
    case '>':
      return ordered(db, other, value, false);
    case '>=':
      return ordered(db, other, value, true);
    default:
      throw new Error(`a condition has the unknown operator ${operator}`);
  }
}

function operandValue(operand: Operand, item: Item): AttributeValue | undefined {
  if (isPath(operand)) return valueAt(operand, item);
  if (!('type' in operand)) return operand;
  if (operand.name !== 'size') throw new Error(`${operand.name} is not an operand`);
  const size = sizeOf(operand.args[0] && operandValue(operand.args[0], item));
  return size === undefined ? undefined : { N: String(size) };
}

function isPath(operand: Operand): operand is Path {
  return Array.isArray(operand);
}

function valueAt(path: Path, item: Item): AttributeValue | undefined {
  let value: AttributeValue | undefined = { M: item };
  for (const step of path) {
    if (typeof step === 'number') value = value.L?.[step];
    else value = value.M && Object.hasOwn(value.M, step) ? value.M[step] : undefined;
    if (value === undefined) return undefined;
  }
  return value;
}

/** Numbers, booleans and null have no size: the comparison around it is false. */
function sizeOf(value: AttributeValue | undefined): number | undefined {
  if (!value) return undefined;
  if (value.B !== undefined) return Buffer.byteLength(value.B, 'base64');
  if (value.M) return Object.keys(value.M).length;
  return (value.S ?? value.SS ?? value.NS ?? value.BS ?? value.L)?.length;
}

function typeOf(value: AttributeValue): string | undefined {
  return Object.keys(value)[0];
}

function equal(left: AttributeValue | undefined, right: AttributeValue | undefined): boolean {
  return left !== undefined && right !== undefined && sameValue(left, right);
}

/** Only two values of one type, string, number or binary, have an order; strings that of their UTF-8. */
function ordered(
  db: DynaliteDb,
  left: AttributeValue | undefined,
  right: AttributeValue | undefined,
  orEqual: boolean,
): boolean {
  const order = orderOf(db, left, right);
  return order !== undefined && (order < 0 || (orEqual && order === 0));
}

function orderOf(
  db: DynaliteDb,
  left: AttributeValue | undefined,
  right: AttributeValue | undefined,
): number | undefined {
  if (left?.N !== undefined && right?.N !== undefined) {
    const [low, high] = [db.toLexiStr(left.N, 'N'), db.toLexiStr(right.N, 'N')];
    return low === high ? 0 : low < high ? -1 : 1;
  }
  const low = bytesOf(left);
  const high = bytesOf(right);
  if (!low || !high || typeOf(left ?? {}) !== typeOf(right ?? {})) return undefined;
  return Buffer.compare(low, high);
}

function bytesOf(value: AttributeValue | undefined): Buffer | undefined {
  if (value?.S !== undefined) return Buffer.from(value.S);
  if (value?.B !== undefined) return Buffer.from(value.B, 'base64');
  return undefined;
}

function beginsWith(value: AttributeValue, prefix: AttributeValue): boolean {
  if (value.S !== undefined && prefix.S !== undefined) return value.S.startsWith(prefix.S);
  if (value.B === undefined || prefix.B === undefined) return false;
  const start = Buffer.from(prefix.B, 'base64');
  return Buffer.from(value.B, 'base64').subarray(0, start.length).equals(start);
}

function contains(value: AttributeValue, part: AttributeValue): boolean {
  if (value.L) return value.L.some((member) => sameValue(member, part));
  if (part.S !== undefined) return (value.S ?? value.SS)?.includes(part.S) ?? false;
  if (part.N !== undefined) return value.NS?.includes(part.N) ?? false;
  if (part.B === undefined) return false;
  if (value.BS) return value.BS.includes(part.B);
  if (value.B === undefined) return false;
  return Buffer.from(value.B, 'base64').includes(Buffer.from(part.B, 'base64'));
}
