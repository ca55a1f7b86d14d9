import { Stack } from 'aws-cdk-lib';
import { AnyPrincipal, PolicyStatement } from 'aws-cdk-lib/aws-iam';
import { type IKey, Key } from 'aws-cdk-lib/aws-kms';
import type { Construct } from 'constructs';
import { type PlatformContext, removalPolicyOf } from '../platform-context.ts';

/** Services that may use the key for whoever may use their data. */
const SERVICES = ['dynamodb', 's3', 'secretsmanager'];

/**
 * The environment's own key, shaped like the keys that AWS manages: usable by this account, and only through the
 * services that store our data. Functions need no KMS permission of their own, and none can decrypt by itself.
 */
export function createDataKey(scope: Construct, id: string, context: PlatformContext): IKey {
  const stack = Stack.of(scope);
  const key = new Key(scope, id, {
    description: `Data of NexusDesk ${context.config.name}`,
    enableKeyRotation: true,
    removalPolicy: removalPolicyOf(context.config),
  });
  key.addToResourcePolicy(
    new PolicyStatement({
      sid: 'ThroughDataServices',
      principals: [new AnyPrincipal()],
      actions: [
        'kms:CreateGrant',
        'kms:Decrypt',
        'kms:DescribeKey',
        'kms:Encrypt',
        'kms:GenerateDataKey',
        'kms:GenerateDataKeyWithoutPlaintext',
        'kms:ReEncryptFrom',
        'kms:ReEncryptTo',
      ],
      resources: ['*'],
      conditions: {
        StringEquals: {
          'kms:CallerAccount': stack.account,
          'kms:ViaService': SERVICES.map(
            (service) => `${service}.${stack.region}.${stack.urlSuffix}`,
          ),
        },
      },
    }),
  );
  // By its ARN: whoever is given the key itself adds statements with wildcards to its policy.
  return Key.fromKeyArn(scope, `${id}ByArn`, key.keyArn);
}
