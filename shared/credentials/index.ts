export { grantCredentials, type Vault } from './credential-broker.ts';
