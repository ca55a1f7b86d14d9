import {
  type Change,
  type Item,
  primaryKeyOf,
  type StreamView,
  type UserIdentity,
} from './model.ts';
import { itemSize, sizeOfItem } from './values.ts';

/** AWS's sequence numbers have at least 21 digits; ours keep that, and sort as text too. */
export function sequenceNumber(sequence: number): string {
  return `1${String(sequence).padStart(20, '0')}`;
}

/** The inverse of {@link sequenceNumber}; undefined for what cannot be one. */
export function sequenceOf(text: string): number | undefined {
  return /^1\d{20}$/.test(text) ? Number(text.slice(1)) : undefined;
}

/** The record of a change as GetRecords answers it, with the images its stream's view asks for. */
export function streamRecord(
  made: {
    change: Change;
    view: StreamView;
    sequence: number;
    region: string;
    at: number;
    identity: UserIdentity | undefined;
  },
  eventID: string,
): object {
  const { before, after, table } = made.change;
  const { view } = made;
  const keys = primaryKeyOf(table, after ?? before ?? {});
  const newImage = view === 'NEW_IMAGE' || view === 'NEW_AND_OLD_IMAGES' ? after : undefined;
  const oldImage = view === 'OLD_IMAGE' || view === 'NEW_AND_OLD_IMAGES' ? before : undefined;
  return {
    eventID,
    eventName: !before ? 'INSERT' : !after ? 'REMOVE' : 'MODIFY',
    eventVersion: '1.1',
    eventSource: 'aws:dynamodb',
    awsRegion: made.region,
    ...(made.identity && { userIdentity: made.identity }),
    dynamodb: {
      ApproximateCreationDateTime: Math.floor(made.at / 1000),
      Keys: keys,
      ...(newImage && { NewImage: newImage }),
      ...(oldImage && { OldImage: oldImage }),
      SequenceNumber: sequenceNumber(made.sequence),
      SizeBytes: itemSize(keys) + imageSize(newImage) + imageSize(oldImage),
      StreamViewType: view,
    },
  };
}

function imageSize(image: Item | undefined): number {
  return image ? sizeOfItem(image) : 0;
}
