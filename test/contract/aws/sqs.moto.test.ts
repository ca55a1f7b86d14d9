import { describeWithMoto } from './reference/moto.ts';
import { SQS_DIVERGENCES } from './sqs.divergences.ts';
import { describeSqs } from './sqs.suite.ts';

describeWithMoto((moto) => {
  describeSqs({
    name: 'SQS on moto',
    side: 'moto',
    endpoint: () => moto().url,
    divergences: SQS_DIVERGENCES,
  });
});
