import type { Divergence } from './divergences.ts';

const ACCEPTED = /the call succeeded/;

/** Where moto's S3 is not AWS, and how we know what AWS does. All were seen on moto 5.2.1. */
export const S3_DIVERGENCES: readonly Divergence[] = [
  {
    title: 'have names that are host names',
    awsIsOn: 'embedded',
    why: 'moto takes capitals and underscores; the user guide has the rules for bucket names',
    symptom: ACCEPTED,
  },
  {
    title: 'have 1,024 bytes at most',
    awsIsOn: 'embedded',
    why: 'moto counts characters; the user guide counts bytes of UTF-8',
    symptom: ACCEPTED,
  },
  {
    title: 'are verified, and nothing is stored when they are wrong',
    awsIsOn: 'embedded',
    why: 'moto stores the object with the wrong checksum; the user guide says that S3 rejects it',
    symptom: ACCEPTED,
  },
  {
    title: 'may be an MD5',
    awsIsOn: 'embedded',
    why: 'moto ignores Content-MD5; the API reference says that S3 compares it',
    symptom: ACCEPTED,
  },
  {
    title: 'is quiet when told to',
    awsIsOn: 'embedded',
    why: 'moto lists what it deleted all the same; the API reference says errors only',
    symptom: /to deeply equal \[\]/,
  },
];
