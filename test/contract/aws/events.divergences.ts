import type { Divergence } from './divergences.ts';

const ACCEPTED = /the call succeeded/;

/** Where moto's EventBridge is not AWS, and how we know what AWS does. All were seen on moto 5.2.1. */
export const EVENTS_DIVERGENCES: readonly Divergence[] = [
  {
    title: 'need a pattern that is an object',
    awsIsOn: 'embedded',
    why: 'moto fails with a 500 and a page of HTML; the pattern syntax has an object at the top',
    symptom: /is not valid JSON/,
  },
  {
    title: 'need operators that exist',
    awsIsOn: 'embedded',
    why: 'moto stores any operator; AWS was recorded answering "Unrecognized match type"',
    symptom: ACCEPTED,
  },
  {
    title: 'need operators that are complete',
    awsIsOn: 'embedded',
    why: 'moto stores half a range; AWS was recorded answering "must be numeric"',
    symptom: ACCEPTED,
  },
  {
    title: 'are five at most',
    awsIsOn: 'embedded',
    why: 'moto has no limit; AWS was recorded answering LimitExceededException',
    symptom: ACCEPTED,
  },
  {
    title: 'name their account',
    awsIsOn: 'embedded',
    why: 'moto leaves it out of what a rule delivers; AWS was recorded delivering it',
    symptom: /to match object/,
  },
  {
    title: 'do not arrive by a rule that is switched off',
    awsIsOn: 'embedded',
    why: 'moto delivers all the same; the API reference says that a disabled rule matches nothing',
    symptom: /'off'/,
  },
  {
    title: 'are accepted for a bus that does not exist',
    awsIsOn: 'embedded',
    why: 'moto refuses the request; AWS was recorded accepting it and dropping the event',
    symptom: /ResourceNotFoundException/,
  },
  {
    title: 'are those whose detail is not an object',
    awsIsOn: 'embedded',
    why: 'moto takes any JSON; the API reference wants an object',
    symptom: /to be 1/,
  },
  {
    title: 'are those that speak for AWS',
    awsIsOn: 'embedded',
    why: 'moto takes the source; users of AWS report NotAuthorizedForSourceException',
    symptom: /expected undefined/,
  },
  {
    title: 'B67 are those whose type is longer than 128 characters',
    awsIsOn: 'embedded',
    why: 'moto takes it; users of AWS report a failed entry inside a success',
    symptom: /to be 1/,
  },
  ...['have an entry of more than 1 MiB', 'have more than 1 MiB in all their entries together'].map(
    (title) => ({
      title,
      awsIsOn: 'embedded' as const,
      why: 'moto has no limit; users of AWS report that the total size is over it',
      symptom: ACCEPTED,
    }),
  ),
  {
    title: 'are tried without a rule',
    awsIsOn: 'embedded',
    why: 'moto answers TestEventPattern with nothing',
    symptom: /expected undefined to be true/,
  },
];
