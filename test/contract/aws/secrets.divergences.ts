import type { Divergence } from './divergences.ts';

const ACCEPTED = /the call succeeded|promise resolved/;

/** Where moto's Secrets Manager is not AWS, and how we know what AWS does. All were seen on moto 5.2.1. */
export const SECRETS_DIVERGENCES: readonly Divergence[] = [
  {
    title: 'take no more than 65,536 bytes',
    awsIsOn: 'embedded',
    why: 'moto has no limit; the API reference has one for both kinds of value',
    symptom: ACCEPTED,
  },
  {
    title: 'are either text or bytes',
    awsIsOn: 'embedded',
    why: 'moto takes both; the API reference says to give one of them',
    symptom: ACCEPTED,
  },
  {
    title: 'takes no new value',
    awsIsOn: 'embedded',
    why: 'moto puts it; the API reference blocks all but DescribeSecret and RestoreSecret',
    symptom: ACCEPTED,
  },
  {
    title: 'keeps the name until it is done',
    awsIsOn: 'embedded',
    why: 'moto says that the secret exists; AWS was recorded saying that it is scheduled for deletion',
    symptom: /ResourceExistsException/,
  },
];
