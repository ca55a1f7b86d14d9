import { Duration, RemovalPolicy } from 'aws-cdk-lib';
import {
  AccountRecovery,
  ClientAttributes,
  Mfa,
  StringAttribute,
  UserPool,
  type UserPoolClient,
} from 'aws-cdk-lib/aws-cognito';
import { Construct } from 'constructs';
import { type PlatformContext, physicalName } from '../platform-context.ts';

/** The attribute that says whose data a user works with; in tokens it is `custom:tenant_id`. */
const TENANT_ATTRIBUTE = 'tenant_id';

/** Users made by an administrator, who also says which tenant they belong to. */
export class PlatformUserPool extends Construct {
  readonly pool: UserPool;
  readonly client: UserPoolClient;

  constructor(scope: Construct, id: string, context: PlatformContext) {
    super(scope, id);
    const { config } = context;
    this.pool = new UserPool(this, 'Pool', {
      userPoolName: physicalName(config, 'users'),
      selfSignUpEnabled: false,
      signInAliases: { email: true },
      // Fixed at creation: a user that could change it would choose whose runs to read.
      customAttributes: {
        [TENANT_ATTRIBUTE]: new StringAttribute({ mutable: false, minLen: 1, maxLen: 64 }),
      },
      mfa: Mfa.OPTIONAL,
      mfaSecondFactor: { sms: false, otp: true },
      accountRecovery: AccountRecovery.EMAIL_ONLY,
      passwordPolicy: { minLength: 14 },
      deletionProtection: config.protectData,
      removalPolicy: config.protectData ? RemovalPolicy.RETAIN : RemovalPolicy.DESTROY,
    });
    this.client = this.pool.addClient('Cli', {
      userPoolClientName: physicalName(config, 'cli'),
      generateSecret: false,
      disableOAuth: true,
      authFlows: { userSrp: true, adminUserPassword: true },
      idTokenValidity: Duration.hours(1),
      accessTokenValidity: Duration.hours(1),
      refreshTokenValidity: Duration.days(7),
      enableTokenRevocation: true,
      preventUserExistenceErrors: true,
      readAttributes: new ClientAttributes()
        .withStandardAttributes({ email: true, emailVerified: true })
        .withCustomAttributes(TENANT_ATTRIBUTE),
      // Without a list a client may write every attribute, the tenant included.
      writeAttributes: new ClientAttributes().withStandardAttributes({ email: true }),
    });
  }
}
