export {
  type AccessTokenVerifier,
  type Caller,
  createAccessTokenVerifier,
  remoteKeys,
} from './access-token.ts';
export {
  createExecutionTokens,
  type ExecutionScope,
  type ExecutionTokens,
  type SignedPosition,
} from './execution-token.ts';
