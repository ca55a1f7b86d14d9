import { type ContractOptions, describeContract } from './divergences.ts';
import { listing } from './s3/listing.ts';
import { objects } from './s3/objects.ts';
import { readsAndWrites } from './s3/reads-and-writes.ts';

/** What S3 does, as calls of the AWS SDK against `endpoint`. */
export function describeS3(options: ContractOptions & { readonly endpoint: () => string }): void {
  describeContract(options, (it) => {
    const part = { it, endpoint: options.endpoint };
    objects(part);
    readsAndWrites(part);
    listing(part);
  });
}
