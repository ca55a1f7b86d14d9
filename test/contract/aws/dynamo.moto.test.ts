import { DYNAMO_DIVERGENCES } from './dynamo.divergences.ts';
import { describeDynamo } from './dynamo.suite.ts';
import { describeWithMoto } from './reference/moto.ts';

describeWithMoto((moto) => {
  describeDynamo({
    name: 'DynamoDB on moto',
    side: 'moto',
    target: () => moto().url,
    divergences: DYNAMO_DIVERGENCES,
  });
});
