import {
  TransactionCanceledException,
  type TransactWriteItemsCommandInput,
} from '@aws-sdk/client-dynamodb';
import type { DynamoDBRecord } from 'aws-lambda';
import { type InProcessDynamo, openInProcessDynamo } from '#local/aws/dynamo/in-process.ts';
import { makeTable } from '#local/stack/make-table.ts';
import { EPOCH_MS, type Kernel } from '../kernel/kernel.ts';
import { awsFault, type CommandSender, operationOf } from './aws-fault.ts';
import type { Faults } from './faults.ts';
import type { Services } from './service.ts';

export const TABLE_NAME = 'nexusdesk';

interface Parts {
  readonly kernel: Kernel;
  readonly faults: Faults;
  readonly services: Services;
}

/** DynamoDB of this process. One for all seeds: making its table anew takes longer than a seed. */
export class TableHall {
  static #hall: Promise<TableHall> | undefined;
  readonly dynamo: InProcessDynamo;
  #now: () => number = () => EPOCH_MS;
  #lags: () => boolean = () => false;

  private constructor() {
    this.dynamo = openInProcessDynamo({ now: () => this.#now(), indexLag: () => this.#lags() });
  }

  static open(): Promise<TableHall> {
    TableHall.#hall ??= (async () => {
      const hall = new TableHall();
      await makeTable(hall.dynamo.client, TABLE_NAME);
      return hall;
    })();
    return TableHall.#hall;
  }

  /** An empty table for a simulation. */
  enter(now: () => number, lags: () => boolean): InProcessDynamo {
    this.#now = () => EPOCH_MS;
    this.#lags = () => false;
    this.dynamo.reset();
    this.#now = now;
    this.#lags = lags;
    return this.dynamo;
  }
}

/** The table as the platform reaches it: every command is a call that may fail, and every write is told at once. */
export class SimulatedTable implements CommandSender {
  readonly #parts: Parts;
  readonly #dynamo: InProcessDynamo;
  readonly #written: (records: readonly DynamoDBRecord[]) => void;
  #lastRecord: string | undefined;
  #propagates = false;

  constructor(
    hall: TableHall,
    parts: Parts,
    /** Told of what one call wrote, before anything else happens. */
    written: (records: readonly DynamoDBRecord[]) => void,
  ) {
    this.#parts = parts;
    this.#written = written;
    const { kernel, faults } = parts;
    this.#dynamo = hall.enter(
      () => Math.floor(EPOCH_MS + kernel.now),
      () => {
        if (!faults.hits('table.stale_index')) return false;
        this.#propagateLater();
        return true;
      },
    );
  }

  send(command: Parameters<CommandSender['send']>[0]): Promise<object> {
    const operation = operationOf(command);
    const isTransaction = operation === 'TransactWriteItems';
    if (isTransaction) {
      // As the SDK does: its own repeats of one call carry one token.
      const input = command.input as TransactWriteItemsCommandInput;
      input.ClientRequestToken ??= Buffer.from(this.#parts.faults.random.bytes(16)).toString('hex');
    }
    return this.#parts.services.call({
      service: 'table',
      what: `${operation} ${labelOf(command.input)}`,
      refusal: () => awsFault('ProvisionedThroughputExceededException', 'throttled'),
      effect: async () => {
        if (/Put|Update|Transact/.test(operation) && this.#parts.faults.hits('table.conflict')) {
          throw isTransaction
            ? new TransactionCanceledException({
                message: 'conflict',
                $metadata: {},
                CancellationReasons: [{ Code: 'TransactionConflict' }],
              })
            : awsFault('TransactionConflictException', 'conflict');
        }
        const answer = this.#dynamo.client.send(command as never) as Promise<object>;
        this.#tell();
        return answer;
      },
    });
  }

  /** Reads as nobody of the platform does: at once, without faults. */
  peek(command: object): Promise<object> {
    return this.#dynamo.client.send(command as never) as Promise<object>;
  }

  /** Later changes of one item wait behind the first, so there may be more of them than were held back here. */
  #propagateLater(): void {
    if (this.#propagates) return;
    this.#propagates = true;
    const { kernel, faults } = this.#parts;
    kernel.after(faults.random.between(10, 4_000), () => {
      this.#propagates = false;
      this.#dynamo.propagate(1);
      if (this.#dynamo.heldIndexWrites() > 0) this.#propagateLater();
    });
  }

  #tell(): void {
    const records = this.#dynamo.takeStreamRecords(this.#lastRecord, 1_000);
    const last = records.at(-1);
    if (!last) return;
    this.#lastRecord = last.dynamodb?.SequenceNumber;
    this.#written(records);
  }
}

type Wire = Record<string, { S?: string } | undefined>;

/** The sort keys a command is about: `HEAD LOG#3`. */
function labelOf(input: object): string {
  const { Key, Item, IndexName, TransactItems, ExpressionAttributeValues, RequestItems } =
    input as Record<string, Wire> & {
      TransactItems?: Record<string, { Key?: Wire; Item?: Wire }>[];
    };
  if (TransactItems) {
    return TransactItems.map((part) => {
      const [write] = Object.values(part);
      return keyOf(write?.Key ?? write?.Item);
    }).join(' ');
  }
  if (Key ?? Item) return keyOf(Key ?? Item);
  if (RequestItems) return 'several';
  const values = Object.values(ExpressionAttributeValues ?? {});
  return `${IndexName ?? ''} ${values.map((value) => shorten(value?.S ?? '')).join(' ')}`;
}

function keyOf(item: Wire | undefined): string {
  const pk = item?.pk?.S ?? '';
  const sk = item?.sk?.S ?? '';
  return `${shorten(pk)}/${sk.replace(/#0+(?=\d)/, '#')}`;
}

/** Run ids by their last characters: enough to tell the few of one simulation apart. */
function shorten(text: string): string {
  return text.replace(/run_[0-9A-Z]{20}/g, '…');
}
