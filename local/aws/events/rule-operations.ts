import type { AwsOperation } from '../kit/aws-endpoint.ts';
import { AwsError } from '../kit/aws-error.ts';
import { validationError } from './put-events.ts';
import { busNameOf, DEFAULT_BUS, type Rule, type Rules, type Target } from './rules.ts';

interface Parts {
  readonly rules: Rules;
  readonly now: () => number;
  readonly region: string;
  readonly accountId: string;
}

const MAX_TARGETS = 5;
const INPUT_CHANGES = ['Input', 'InputPath', 'InputTransformer'];

/** The operations on buses, rules and targets. */
export function ruleOperations(parts: Parts): Record<string, AwsOperation> {
  const { rules, now, region, accountId } = parts;
  const arn = (rest: string) => `arn:aws:events:${region}:${accountId}:${rest}`;
  const busArn = (name: string) => arn(`event-bus/${name}`);
  const ruleArn = ({ bus, name }: Pick<Rule, 'bus' | 'name'>) =>
    arn(bus === DEFAULT_BUS ? `rule/${name}` : `rule/${bus}/${name}`);
  const viewBus = (name: string) => {
    const bus = rules.bus(name);
    return {
      Name: bus.name,
      Arn: busArn(bus.name),
      ...(bus.description !== null && { Description: bus.description }),
      CreationTime: bus.created_at / 1000,
      LastModifiedTime: bus.created_at / 1000,
    };
  };
  const viewRule = (rule: Rule) => ({
    Name: rule.name,
    Arn: ruleArn(rule),
    EventPattern: rule.pattern,
    State: rule.state,
    ...(rule.description !== null && { Description: rule.description }),
    ...(rule.role_arn !== null && { RoleArn: rule.role_arn }),
    EventBusName: rule.bus,
  });

  return {
    CreateEventBus({ Name, Description }) {
      if (!/^[\w./-]{1,256}$/.test(String(Name)) || String(Name).startsWith('aws.')) {
        throw validationError(`Value '${Name}' at 'name' is not a valid event bus name.`);
      }
      rules.addBus({ name: Name, description: Description ?? null, created_at: now() });
      return { EventBusArn: busArn(Name) };
    },

    DescribeEventBus: ({ Name }) => viewBus(busNameOf(Name)),

    ListEventBuses({ NamePrefix = '', Limit, NextToken }) {
      const names = rules.buses().map((bus) => bus.name);
      const page = pageOf(matching(names, NamePrefix), String, Limit, NextToken);
      return { EventBuses: page.items.map(viewBus), ...page.next };
    },

    DeleteEventBus({ Name }) {
      const name = busNameOf(Name);
      if (name === DEFAULT_BUS) throw validationError('Cannot delete event bus default.');
      if (rules.rules(name).length > 0) {
        throw validationError("Event bus can't be deleted since it has rules.");
      }
      rules.deleteBus(name);
    },

    PutRule({ Name, EventBusName, EventPattern, ScheduleExpression, State, ...rest }) {
      if (!/^[\w.-]{1,64}$/.test(String(Name))) {
        throw validationError(`Value '${Name}' at 'name' is not a valid rule name.`);
      }
      if (ScheduleExpression !== undefined) {
        throw notEmulated('ScheduleExpression');
      }
      if (EventPattern === undefined) {
        throw validationError('Parameter(s) EventPattern or ScheduleExpression must be specified.');
      }
      const rule: Rule = {
        bus: busNameOf(EventBusName),
        name: Name,
        pattern: String(EventPattern),
        state: State === 'DISABLED' ? 'DISABLED' : 'ENABLED',
        description: rest.Description ?? null,
        role_arn: rest.RoleArn ?? null,
      };
      rules.putRule(rule);
      return { RuleArn: ruleArn(rule) };
    },

    DescribeRule({ Name, EventBusName }) {
      const rule = rules.rule(busNameOf(EventBusName), Name);
      return { ...viewRule(rule), CreatedBy: accountId };
    },

    EnableRule({ Name, EventBusName }) {
      rules.putRule({ ...rules.rule(busNameOf(EventBusName), Name), state: 'ENABLED' });
    },

    DisableRule({ Name, EventBusName }) {
      rules.putRule({ ...rules.rule(busNameOf(EventBusName), Name), state: 'DISABLED' });
    },

    ListRules({ NamePrefix = '', EventBusName, Limit, NextToken }) {
      const { name } = rules.bus(busNameOf(EventBusName));
      const found = rules.rules(name).filter((rule) => rule.name.startsWith(NamePrefix));
      const page = pageOf(found, (rule) => rule.name, Limit, NextToken);
      return { Rules: page.items.map(viewRule), ...page.next };
    },

    DeleteRule({ Name, EventBusName }) {
      const bus = busNameOf(EventBusName);
      rules.bus(bus);
      if (rules.targets(bus, Name).length > 0) {
        throw validationError("Rule can't be deleted since it has targets.");
      }
      rules.deleteRule(bus, Name);
    },

    PutTargets({ Rule: name, EventBusName, Targets = [] }) {
      const rule = rules.rule(busNameOf(EventBusName), name);
      for (const target of Targets) checkTarget(target);
      const ids = new Set(rules.targets(rule.bus, rule.name).map((target) => target.Id));
      for (const { Id } of Targets as Target[]) ids.add(Id);
      if (ids.size > MAX_TARGETS) {
        throw new AwsError(
          'LimitExceededException',
          'The requested resource exceeds the maximum number allowed.',
        );
      }
      for (const target of Targets as Target[]) rules.putTarget(rule, target);
      return { FailedEntryCount: 0, FailedEntries: [] };
    },

    RemoveTargets({ Rule: name, EventBusName, Ids = [] }) {
      const rule = rules.rule(busNameOf(EventBusName), name);
      const missing = (Ids as string[]).filter((id) => !rules.deleteTarget(rule, id));
      return {
        FailedEntryCount: missing.length,
        FailedEntries: missing.map((TargetId) => ({
          TargetId,
          ErrorCode: 'ResourceNotFoundException',
          ErrorMessage: `Rule ${name} does not have a target with the Id ${TargetId}.`,
        })),
      };
    },

    ListTargetsByRule({ Rule: name, EventBusName, Limit, NextToken }) {
      const rule = rules.rule(busNameOf(EventBusName), name);
      const targets = rules.targets(rule.bus, rule.name);
      const page = pageOf(targets, (target) => target.Id, Limit, NextToken);
      return { Targets: page.items, ...page.next };
    },
  };
}

function checkTarget(target: Record<string, unknown>): void {
  const id = String(target.Id ?? '');
  if (!/^[\w.-]{1,64}$/.test(id)) {
    throw validationError(`Value '${id}' at 'targets.1.member.id' is not a valid target id.`);
  }
  if (!/^arn:[^:]+:[^:]+:[^:]*:[^:]*:.+$/.test(String(target.Arn ?? ''))) {
    throw validationError(
      `Parameter ${String(target.Arn)} is not valid. Reason: Provided Arn is not in correct format.`,
    );
  }
  const change = INPUT_CHANGES.find((name) => target[name] !== undefined);
  if (change) throw notEmulated(change);
}

/** Better refused than silently different from AWS. */
function notEmulated(what: string): AwsError {
  return new AwsError(
    'OperationDisabledException',
    `${what} is not part of the local EventBridge.`,
  );
}

const matching = (names: readonly string[], prefix: string) =>
  names.filter((name) => name.startsWith(prefix));

/** A page of a list ordered by key; the token is the last key of the page before. */
function pageOf<T>(
  all: readonly T[],
  keyOf: (item: T) => string,
  limit: unknown,
  token: unknown,
): { readonly items: readonly T[]; readonly next: { readonly NextToken?: string } } {
  const size = typeof limit === 'number' ? Math.min(100, Math.max(1, limit)) : 100;
  const after = typeof token === 'string' ? Buffer.from(token, 'base64url').toString() : '';
  const rest = all.filter((item) => keyOf(item) > after);
  const items = rest.slice(0, size);
  const last = items.at(-1);
  const more = last !== undefined && rest.length > size;
  return {
    items,
    next: more ? { NextToken: Buffer.from(keyOf(last)).toString('base64url') } : {},
  };
}
