export { type AsyncInvocationOptions, type DeadLetter, invokeAsync } from './async-invocation.ts';
export type { EventSource } from './event-source.ts';
export { type InProcessOptions, inProcess } from './in-process.ts';
export { lambdaInvokeApi } from './invoke-api.ts';
export type {
  FunctionError,
  InvokeOutcome,
  LambdaInvoker,
  ResponseMetadata,
  ResponseSink,
} from './invoker.ts';
export type { LambdaHandler } from './response-stream.ts';
export {
  type ScheduleSource,
  type ScheduleSourceOptions,
  startScheduleSource,
} from './schedule-source.ts';
export { type SqsSourceOptions, startSqsSource } from './sqs-source.ts';
export type { DiscardedBatch } from './stream-delivery.ts';
export { insertionsOf } from './stream-filter.ts';
export { type StreamSource, type StreamSourceOptions, startStreamSource } from './stream-source.ts';
