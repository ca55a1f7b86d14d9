import { type ContractOptions, describeContract } from './divergences.ts';
import { patterns } from './events/patterns.ts';
import { putEvents } from './events/put-events.ts';
import { rules } from './events/rules.ts';

/** What EventBridge does, as calls of the AWS SDK against `endpoint`, which has to serve SQS too. */
export function describeEvents(
  options: ContractOptions & { readonly endpoint: () => string },
): void {
  describeContract(options, (it) => {
    const part = { it, endpoint: options.endpoint };
    rules(part);
    putEvents(part);
    patterns(part);
  });
}
