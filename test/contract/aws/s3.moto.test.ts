import { describeWithMoto } from './reference/moto.ts';
import { S3_DIVERGENCES } from './s3.divergences.ts';
import { describeS3 } from './s3.suite.ts';

describeWithMoto((moto) => {
  describeS3({
    name: 'S3 on moto',
    side: 'moto',
    endpoint: () => moto().url,
    divergences: S3_DIVERGENCES,
  });
});
