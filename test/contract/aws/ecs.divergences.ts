import type { Divergence } from './divergences.ts';

const RESOLVED = /instead of rejecting/;
/** moto answers an exception of its own with an HTML page. */
const PAGE = /not valid JSON|SyntaxError/;

/** What AWS does is taken from its API reference and developer guide; no account was there to ask. */
export const ECS_DIVERGENCES: readonly Divergence[] = [
  {
    title: 'refuses a task size that Fargate does not have',
    awsIsOn: 'embedded',
    why: 'moto checks no task sizes; the table is in the Fargate task definition guide',
    symptom: RESOLVED,
  },
  {
    title: 'refuses a definition without containers',
    awsIsOn: 'embedded',
    why: 'moto registers it; containerDefinitions is a required, non-empty list',
    symptom: RESOLVED,
  },
  {
    title: 'runs a definition that leaves the memory to the task',
    awsIsOn: 'embedded',
    why: 'moto needs memory on each container and fails with 500; on Fargate the task size is enough',
    symptom: PAGE,
  },
  {
    title: 'accepts a task before it starts it',
    awsIsOn: 'embedded',
    why: 'moto says RUNNING at once; the task lifecycle begins with PROVISIONING',
    symptom: /'RUNNING' to be 'PROVISIONING'/,
  },
  {
    title: 'runs up to ten tasks at once',
    awsIsOn: 'embedded',
    why: 'moto runs eleven; the RunTask reference says at most 10 in a call',
    symptom: RESOLVED,
  },
  {
    title: 'B73 refuses overrides above 8,192 characters, as they are escaped in JSON',
    awsIsOn: 'embedded',
    why: 'moto takes any length; the RunTask reference counts the JSON of the overrides',
    symptom: RESOLVED,
  },
  {
    title: 'refuses overrides of a container that is not in the definition',
    awsIsOn: 'embedded',
    why: 'moto does not look; the service answers InvalidParameterException',
    symptom: RESOLVED,
  },
  {
    title: 'gives the same task for the same client token',
    awsIsOn: 'embedded',
    why: 'moto ignores clientToken; see "Ensuring idempotency" in the API reference',
    symptom: /to be 'arn:aws:ecs/,
  },
  {
    title: 'refuses a client token with other parameters, and names the tasks it has bought',
    awsIsOn: 'embedded',
    why: 'moto ignores clientToken; ConflictException is in the API reference',
    symptom: RESOLVED,
  },
  {
    title: 'names tasks that are missing',
    awsIsOn: 'embedded',
    why: 'moto leaves failures empty; see "API failure reasons" in the developer guide',
    symptom: /expected \[\] to match object/,
  },
  {
    title: 'lists running tasks unless it is asked for stopped ones',
    awsIsOn: 'embedded',
    why: 'moto lists stopped tasks, too; the default of desiredStatus is RUNNING',
    symptom: /to deeply equal/,
  },
  {
    title: 'lists in pages',
    awsIsOn: 'embedded',
    why: 'moto ignores maxResults',
    symptom: /length of 2 but got 3/,
  },
  {
    title: 'takes no other filter beside who started a task',
    awsIsOn: 'embedded',
    why: 'moto combines them; the ListTasks reference says startedBy must be the only filter',
    symptom: RESOLVED,
  },
  {
    title: 'refuses a page of no or too many tasks, and a place that it never gave',
    awsIsOn: 'embedded',
    why: 'moto ignores maxResults and nextToken; the ListTasks reference says 1 to 100',
    symptom: RESOLVED,
  },
  {
    title: 'describes up to a hundred tasks at once',
    awsIsOn: 'embedded',
    why: 'moto describes any number; the DescribeTasks reference says up to 100',
    symptom: RESOLVED,
  },
  {
    title: 'says that a user stopped it',
    awsIsOn: 'embedded',
    why: 'moto has no stopCode and no stoppingAt',
    symptom: /undefined to be 'UserInitiated'/,
  },
  {
    title: 'refuses to stop a task that does not exist',
    awsIsOn: 'embedded',
    why: 'moto fails with 500; the service answers InvalidParameterException',
    symptom: PAGE,
  },
];
