import { AwsError } from '../kit/aws-error.ts';
import type { StateDatabase } from '../kit/state-database.ts';
import { compileEventPattern, type EventMatcher } from './event-pattern.ts';

export const DEFAULT_BUS = 'default';

/** A bus is named by its name or its ARN. */
export function busNameOf(nameOrArn: string | undefined): string {
  return nameOrArn?.replace(/^arn:[^/]*\//, '') || DEFAULT_BUS;
}

export interface Bus {
  readonly name: string;
  readonly description: string | null;
  /** Milliseconds since 1970. */
  readonly created_at: number;
}

export interface Rule {
  readonly bus: string;
  readonly name: string;
  readonly pattern: string;
  readonly state: 'ENABLED' | 'DISABLED';
  readonly description: string | null;
  readonly role_arn: string | null;
}

/** A target as `PutTargets` gave it. */
export interface Target {
  readonly Id: string;
  readonly Arn: string;
  readonly RetryPolicy?: { readonly MaximumRetryAttempts?: number };
  readonly DeadLetterConfig?: { readonly Arn?: string };
}

/** A rule that matched, and where its events go. */
export interface Match {
  readonly rule: Rule;
  readonly targets: readonly Target[];
}

const SCHEMA = `
CREATE TABLE IF NOT EXISTS events_bus (
  name TEXT PRIMARY KEY,
  description TEXT,
  created_at INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events_rule (
  bus TEXT NOT NULL REFERENCES events_bus (name) ON DELETE CASCADE,
  name TEXT NOT NULL,
  pattern TEXT NOT NULL,
  state TEXT NOT NULL,
  description TEXT,
  role_arn TEXT,
  PRIMARY KEY (bus, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS events_target (
  bus TEXT NOT NULL,
  rule TEXT NOT NULL,
  id TEXT NOT NULL,
  target TEXT NOT NULL,
  PRIMARY KEY (bus, rule, id),
  FOREIGN KEY (bus, rule) REFERENCES events_rule (bus, name) ON DELETE CASCADE
) WITHOUT ROWID;`;

const notFound = (message: string) => new AwsError('ResourceNotFoundException', message);

/** Buses, their rules and targets. The default bus always exists. */
export class Rules {
  readonly #state: StateDatabase;
  /** Compiled patterns by their text: rules share them, and a changed rule finds another. */
  readonly #compiled = new Map<string, EventMatcher>();

  constructor(state: StateDatabase, now: number) {
    this.#state = state;
    state.exec(SCHEMA);
    state.prepare('INSERT OR IGNORE INTO events_bus VALUES (?, NULL, ?)').run(DEFAULT_BUS, now);
  }

  buses(): readonly Bus[] {
    return this.#all<Bus>('SELECT * FROM events_bus ORDER BY name');
  }

  findBus(name: string): Bus | undefined {
    return this.#all<Bus>('SELECT * FROM events_bus WHERE name = ?', name)[0];
  }

  bus(name: string): Bus {
    const bus = this.findBus(name);
    if (!bus) throw notFound(`Event bus ${name} does not exist.`);
    return bus;
  }

  addBus(bus: Bus): void {
    if (this.findBus(bus.name)) {
      throw new AwsError('ResourceAlreadyExistsException', `Event bus ${bus.name} already exists.`);
    }
    this.#run('INSERT INTO events_bus VALUES (?, ?, ?)', bus.name, bus.description, bus.created_at);
  }

  deleteBus(name: string): void {
    this.#run('DELETE FROM events_bus WHERE name = ?', name);
  }

  rules(bus: string): readonly Rule[] {
    return this.#all<Rule>('SELECT * FROM events_rule WHERE bus = ? ORDER BY name', bus);
  }

  rule(bus: string, name: string): Rule {
    this.bus(bus);
    const [rule] = this.#all<Rule>(
      'SELECT * FROM events_rule WHERE bus = ? AND name = ?',
      bus,
      name,
    );
    if (!rule) throw notFound(`Rule ${name} does not exist on EventBus ${bus}.`);
    return rule;
  }

  /** Creates or replaces a rule; its targets stay. */
  putRule(rule: Rule): void {
    this.bus(rule.bus);
    this.#matcher(rule.pattern);
    this.#run(
      `INSERT INTO events_rule VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET
         pattern = excluded.pattern, state = excluded.state, description = excluded.description,
         role_arn = excluded.role_arn`,
      rule.bus,
      rule.name,
      rule.pattern,
      rule.state,
      rule.description,
      rule.role_arn,
    );
  }

  deleteRule(bus: string, name: string): void {
    this.#run('DELETE FROM events_rule WHERE bus = ? AND name = ?', bus, name);
  }

  targets(bus: string, rule: string): readonly Target[] {
    return this.#all<{ target: string }>(
      'SELECT target FROM events_target WHERE bus = ? AND rule = ? ORDER BY id',
      bus,
      rule,
    ).map(({ target }) => JSON.parse(target) as Target);
  }

  putTarget(rule: Rule, target: Target): void {
    this.#run(
      'INSERT OR REPLACE INTO events_target VALUES (?, ?, ?, ?)',
      rule.bus,
      rule.name,
      target.Id,
      JSON.stringify(target),
    );
  }

  /** Whether there was such a target. */
  deleteTarget(rule: Rule, id: string): boolean {
    const { changes } = this.#run(
      'DELETE FROM events_target WHERE bus = ? AND rule = ? AND id = ?',
      rule.bus,
      rule.name,
      id,
    );
    return Number(changes) > 0;
  }

  /** The enabled rules of a bus that an event fits. */
  matching(bus: string, event: object): readonly Match[] {
    return this.rules(bus)
      .filter((rule) => rule.state === 'ENABLED' && this.#matcher(rule.pattern)(event))
      .map((rule) => ({ rule, targets: this.targets(bus, rule.name) }));
  }

  #matcher(pattern: string): EventMatcher {
    let matcher = this.#compiled.get(pattern);
    if (!matcher) {
      matcher = compileEventPattern(pattern);
      this.#compiled.set(pattern, matcher);
    }
    return matcher;
  }

  #all<T>(sql: string, ...parameters: string[]): T[] {
    return this.#state.prepare(sql).all(...parameters) as T[];
  }

  #run(sql: string, ...parameters: (string | number | null)[]) {
    return this.#state.prepare(sql).run(...parameters);
  }
}
