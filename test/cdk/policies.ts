import { z } from 'zod';
import type { Environment, Resource } from './environment.ts';

const oneOrMore = z
  .union([z.string(), z.array(z.string())])
  .transform((value) => (Array.isArray(value) ? value : [value]));

const statementSchema = z.object({
  Effect: z.enum(['Allow', 'Deny']),
  Action: oneOrMore,
  Resource: oneOrMore.optional(),
  Principal: z.unknown().optional(),
  Condition: z.record(z.string(), z.record(z.string(), z.unknown())).optional(),
});

export interface Statement {
  readonly effect: 'Allow' | 'Deny';
  readonly actions: readonly string[];
  readonly resources: readonly string[];
  readonly conditions: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
}

const documentSchema = z.object({ Statement: z.array(statementSchema) });

/** Statements of a policy document, whatever it is attached to. */
export function statementsIn(document: unknown): Statement[] {
  return documentSchema.parse(document).Statement.map((statement) => ({
    effect: statement.Effect,
    actions: statement.Action,
    resources: statement.Resource ?? [],
    conditions: statement.Condition ?? {},
  }));
}

/** Every document that lets somebody do something: of roles, of resources and of endpoints. */
export function policyDocuments(environment: Environment) {
  const places: Readonly<Record<string, string>> = {
    'AWS::IAM::Policy': 'PolicyDocument',
    'AWS::SQS::QueuePolicy': 'PolicyDocument',
    'AWS::S3::BucketPolicy': 'PolicyDocument',
    'AWS::SNS::TopicPolicy': 'PolicyDocument',
    'AWS::EC2::VPCEndpoint': 'PolicyDocument',
    'AWS::KMS::Key': 'KeyPolicy',
    'AWS::ApiGateway::RestApi': 'Policy',
  };
  return environment.resources.flatMap((resource) => {
    const place = places[resource.type];
    const document = place && resource.properties[place];
    return document ? [{ resource, statements: statementsIn(document) }] : [];
  });
}

/** What is allowed to a role, from all policies attached to it. */
export function allowedTo(environment: Environment, role: string): Statement[] {
  return environment
    .all('AWS::IAM::Policy')
    .filter(({ properties }) => (properties.Roles as readonly string[]).includes(role))
    .flatMap(({ properties }) => statementsIn(properties.PolicyDocument));
}

export function actionsOf(statements: readonly Statement[]): string[] {
  return [...new Set(statements.flatMap(({ actions }) => actions))].sort();
}

/** The function of a name in the catalogue. */
export function functionOf(environment: Environment, name: string): Resource {
  const wanted = `nexusdesk-${environment.config.name}-${name.replaceAll('/', '-')}`;
  const found = environment
    .all('AWS::Lambda::Function')
    .filter(({ properties }) => properties.FunctionName === wanted);
  const [only, ...others] = found;
  if (!only || others.length > 0) throw new Error(`${found.length} functions are ${name}`);
  return only;
}

/** `…/Role.Arn` → `…/Role`, as policies name their roles. */
export function roleOf(resource: Resource): string {
  return String(resource.properties.Role).replace(/\.Arn$/, '');
}
