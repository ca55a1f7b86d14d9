import { describeWithMoto } from './reference/moto.ts';
import { SECRETS_DIVERGENCES } from './secrets.divergences.ts';
import { describeSecrets } from './secrets.suite.ts';

describeWithMoto((moto) => {
  describeSecrets({
    name: 'Secrets Manager on moto',
    side: 'moto',
    endpoint: () => moto().url,
    divergences: SECRETS_DIVERGENCES,
  });
});
