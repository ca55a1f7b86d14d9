import type { DynaliteDb, Expression, Operand, Path, UpdateSection } from './dynalite-types.ts';
import type { Item } from './model.ts';

/**
 * Prepares a parsed update expression for dynalite, which runs its sections one after the other on one
 * object. In DynamoDB every part of the expression sees the item as it was:
 * - what a SET reads is copied here, since `SET was = n ADD n :one` would otherwise raise `was` too;
 * - REMOVE of list members comes last, highest position first, since each removal moves those behind it.
 */
export function prepareSections(
  db: DynaliteDb,
  sections: readonly UpdateSection[],
  before: Item,
): UpdateSection[] {
  const removals = sections.filter((section) => section.type === 'remove');
  const others = sections
    .filter((section) => section.type !== 'remove')
    .map((section) => {
      if (section.type !== 'set' || !section.val) return section;
      return { ...section, val: detached(db, section.val, before) };
    });
  return [...others, ...removals.sort((left, right) => comparePaths(right.path, left.path))];
}

/** The operand with a copy of each value it reads; what is missing stays a path, for dynalite to report. */
function detached(db: DynaliteDb, operand: Operand, item: Item): Operand {
  if (isPath(operand)) {
    const value = db.mapPath(operand, item);
    return value ? structuredClone(value) : operand;
  }
  if (!isExpression(operand)) return operand;
  const [first, fallback] = operand.args;
  if (operand.name === 'if_not_exists' && first && fallback) {
    const value = isPath(first) ? db.mapPath(first, item) : undefined;
    return value ? structuredClone(value) : detached(db, fallback, item);
  }
  return { ...operand, args: operand.args.map((part) => detached(db, part, item)) };
}

function isPath(operand: Operand): operand is Path {
  return Array.isArray(operand);
}

function isExpression(operand: Operand): operand is Expression {
  return 'type' in operand;
}

function comparePaths(left: Path, right: Path): number {
  for (const [at, step] of left.entries()) {
    const other = right[at];
    if (other === undefined) return 1;
    if (step === other) continue;
    if (typeof step === 'number' && typeof other === 'number') return step - other;
    return String(step) < String(other) ? -1 : 1;
  }
  return left.length - right.length;
}
