import { ECSClient } from '@aws-sdk/client-ecs';
import { ECS_DIVERGENCES } from './ecs.divergences.ts';
import { describeEcs } from './ecs.suite.ts';
import { describeWithMoto } from './reference/moto.ts';

describeWithMoto((moto) => {
  describeEcs({
    name: 'ECS on moto',
    side: 'moto',
    divergences: ECS_DIVERGENCES,
    client: () =>
      new ECSClient({
        endpoint: moto().url,
        region: 'us-east-1',
        credentials: { accessKeyId: 'test', secretAccessKey: 'test' },
        // What moto cannot do is a 500 that no repetition changes.
        maxAttempts: 1,
      }),
    subnet: () => anySubnet(moto().url),
  });
});

/** moto makes the network interface of a task, so its subnet must be one of those that moto starts with. */
async function anySubnet(endpoint: string): Promise<string> {
  const scope = '20260101/us-east-1/ec2/aws4_request';
  const answer = await fetch(endpoint, {
    method: 'POST',
    body: new URLSearchParams({ Action: 'DescribeSubnets', Version: '2016-11-15' }),
    headers: {
      authorization: `AWS4-HMAC-SHA256 Credential=test/${scope}, SignedHeaders=, Signature=`,
    },
  });
  const text = await answer.text();
  const subnet = /subnet-[0-9a-f]+/.exec(text)?.[0];
  if (!subnet) throw new Error(`moto has no subnet: ${text.slice(0, 500)}`);
  return subnet;
}
