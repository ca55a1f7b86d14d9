import type { AttributeValue, DynamoDBRecord } from 'aws-lambda';
import { isFinalEventType, isTerminal, type RunStatus } from '#shared/contracts/index.ts';
import { readPageImage } from '#shared/runs/dynamo-page-image.ts';
import { isActive, type LogPage, toAgentEvents } from '#shared/runs/index.ts';
import { markerOf } from '../actors/scripted-engine.ts';
import { EPOCH_MS, type Kernel } from '../kernel/kernel.ts';
import { epochOf, newRunRecord, type RunRecord } from './run-record.ts';
import { Violation } from './violation.ts';

type Image = Record<string, AttributeValue>;

/** Sees every write of the ledger as it lands, and holds each against what may never happen. */
export class LedgerWatch {
  readonly #kernel: Kernel;
  readonly #tenantLimit: number;
  readonly #hasBlob: (runId: string, sha256: string) => boolean;
  readonly runs = new Map<string, RunRecord>();
  readonly transitions = new Map<string, number>();
  /** Totals of each tenant and day, as they stand. */
  readonly days = new Map<string, { attempts: number; inputTokens: number }>();
  readonly #counters = new Map<string, { tenantId: string; live: number }>();

  constructor(
    kernel: Kernel,
    tenantLimit: number,
    hasBlob: (runId: string, sha256: string) => boolean,
  ) {
    this.#hasBlob = hasBlob;
    this.#kernel = kernel;
    this.#tenantLimit = tenantLimit;
  }

  /** All that one call wrote: one item, or a transaction. */
  written(records: readonly DynamoDBRecord[]): void {
    const touched = new Set<RunRecord>();
    for (const record of records) {
      const image = record.dynamodb?.NewImage as Image | undefined;
      const before = record.dynamodb?.OldImage as Image | undefined;
      const kind = (image ?? before)?.kind?.S;
      if (kind === 'head') touched.add(this.#head(image, before));
      if (kind === 'page') touched.add(this.#page(record, image));
      if (kind === 'quota') this.#counter(image);
      if (image?.sk?.S?.startsWith('DAY#')) this.#day(image);
    }
    for (const run of touched) this.#whole(run);
    this.#quotas();
  }

  get live(): boolean {
    for (const run of this.runs.values()) if (run.status && !isTerminal(run.status)) return true;
    return false;
  }

  runOf(runId: string): RunRecord | undefined {
    return this.runs.get(runId);
  }

  get counters(): readonly { tenantId: string; live: number }[] {
    return [...this.#counters.values()];
  }

  #run(image: Image): RunRecord {
    const [, tenantId = '', runId = ''] = image.pk?.S?.split('#') ?? [];
    let run = this.runs.get(runId);
    if (!run) {
      run = newRunRecord(tenantId, runId);
      this.runs.set(runId, run);
    }
    return run;
  }

  #head(image: Image | undefined, before: Image | undefined): RunRecord {
    if (!image) {
      throw new Violation('nothing-lost', `the head of ${before?.pk?.S} was removed`);
    }
    const run = this.#run(image);
    const status = image.status?.S as RunStatus;
    const epoch = Number(image.epoch?.N);
    const from = before?.status?.S as RunStatus | undefined;
    if (from && isTerminal(from)) {
      throw new Violation(
        'one-ending',
        `${run.runId} was ${from} and was written again (${status})`,
      );
    }
    if (from && from !== status) {
      const step = `${from} → ${status}`;
      this.transitions.set(step, (this.transitions.get(step) ?? 0) + 1);
      this.#kernel.note(`run …${run.runId.slice(-6)} ${step}, epoch ${epoch}`);
    }
    this.#checkEpoch(run, from, status, epoch);
    if (run.cancelRequested && ['completed', 'queued', 'running'].includes(status)) {
      throw new Violation('cancel-kept', `${run.runId} became ${status} after its cancel`);
    }
    run.status = status;
    run.epoch = epoch;
    run.attempt = Number(image.attempt?.N ?? 0);
    if (run.attempt > Number(image.maxAttempts?.N)) {
      throw new Violation('attempts-bounded', `${run.runId} is in attempt ${run.attempt}`);
    }
    run.hostInstanceId = image.hostInstanceId?.S;
    if (status === 'running') run.claimedEpoch = epoch;
    run.repeatable = image.repeatable?.BOOL ?? false;
    run.cancelRequested = image.cancelRequestedAt !== undefined;
    run.deadlineAt = Date.parse(image.deadlineAt?.S ?? '') - EPOCH_MS;
    run.usage = usageOf(image.usage);
    if (isTerminal(status)) {
      run.endedAt = this.#kernel.now;
      if (image.dueAt || image.duePk) {
        throw new Violation('timers-cleared', `${run.runId} ended and keeps its timer`);
      }
    }
    return run;
  }

  #checkEpoch(run: RunRecord, from: RunStatus | undefined, to: RunStatus, epoch: number): void {
    const claimed = from === 'queued' && to === 'starting';
    if (epoch !== run.epoch + (claimed ? 1 : 0)) {
      throw new Violation(
        'fenced',
        `${run.runId} went from epoch ${run.epoch} to ${epoch} with ${from} → ${to}`,
      );
    }
  }

  #page(record: DynamoDBRecord, image: Image | undefined): RunRecord {
    if (record.eventName !== 'INSERT' || !image) {
      throw new Violation('dense-log', `${record.eventName} of ${record.dynamodb?.Keys?.sk?.S}`);
    }
    const run = this.#run(image);
    const page = readPageImage(image)?.page;
    if (!page) throw new Violation('dense-log', `a page of ${run.runId} cannot be read`);
    const next = run.events.length + 1;
    if (page.index !== run.pages + 1 || page.first !== next) {
      throw new Violation(
        'dense-log',
        `${run.runId}: page ${page.index} from ${page.first}, not ${run.pages + 1} from ${next}`,
      );
    }
    if (run.final) {
      throw new Violation('final-last', `${run.runId}: page ${page.index} after the final page`);
    }
    if (page.producer === 'host') this.#hostPage(run, page);
    run.pages = page.index;
    run.events.push(...toAgentEvents(run.runId, page));
    if (page.kind === 'final') run.final = true;
    if (page.kind === 'seal') run.sealedEpoch = Math.max(run.sealedEpoch, page.epoch);
    if (page.attempt) this.#attemptEnded(run, page.attempt);
    const finals = page.events.filter(({ eventType }) => isFinalEventType(eventType)).length;
    const last = page.events.at(-1);
    const ends = page.kind === 'final';
    if (finals !== (ends ? 1 : 0) || (ends && !isFinalEventType(last?.eventType ?? ''))) {
      throw new Violation(
        'final-last',
        `${run.runId}: ${finals} final events on a ${page.kind} page`,
      );
    }
    return run;
  }

  #hostPage(run: RunRecord, page: LogPage): void {
    const { epoch } = page;
    const where = `${run.runId}: page ${page.index} of epoch ${epoch}`;
    if (epoch !== run.epoch || epoch <= run.sealedEpoch) {
      throw new Violation('fenced', `${where} was accepted in epoch ${run.epoch}`);
    }
    if (run.status !== 'running' && run.status !== 'cancelling') {
      throw new Violation('fenced', `${where} was accepted while ${run.status}`);
    }
    const record = epochOf(run, epoch);
    if (page.events.some(({ eventType }) => eventType === 'events.lost')) record.lost = true;
    if (page.producerFirst !== record.producedThrough + 1) {
      throw new Violation(
        'stored-once',
        `${where} begins with ${page.producerFirst} after ${record.producedThrough}`,
      );
    }
    record.producedThrough = page.producerFirst + page.events.length - 1;
    for (const event of page.events) {
      if (event.eventType === 'run.started') record.started += 1;
      if (event.blob && !this.#hasBlob(run.runId, event.blob.sha256)) {
        throw new Violation('blob-kept', `${where} names a blob that is not there`);
      }
      const marker = markerOf(event);
      if (!marker) continue;
      const [host = '', number] = marker.split('/');
      record.host ??= host;
      if (record.host !== host) {
        throw new Violation('one-host', `${where} holds events of ${record.host} and of ${host}`);
      }
      const inOrder = record.lost
        ? Number(number) > record.lastMarker
        : Number(number) === record.lastMarker + 1;
      if (!inOrder) {
        throw new Violation('stored-once', `${where}: ${marker} after ${record.lastMarker}`);
      }
      record.lastMarker = Number(number);
    }
    if (record.started > 1) throw new Violation('stored-once', `${where}: started twice`);
  }

  #attemptEnded(run: RunRecord, end: NonNullable<LogPage['attempt']>): void {
    const record = epochOf(run, end.epoch);
    if (record.usage) {
      throw new Violation('usage-summed', `${run.runId}: epoch ${end.epoch} ended twice`);
    }
    record.usage = end.usage;
  }

  /** Head and log agree after every write. */
  #whole(run: RunRecord): void {
    const ended = run.status !== undefined && isTerminal(run.status);
    if (ended !== run.final) {
      throw new Violation(
        'final-last',
        `${run.runId} is ${run.status} ${run.final ? 'with' : 'without'} a final page`,
      );
    }
    if (run.status && run.events.length === 0) {
      throw new Violation('dense-log', `${run.runId} has a head and no log`);
    }
    const sealed = run.sealedEpoch >= run.epoch && run.epoch > 0;
    if (sealed && run.status !== 'queued' && !ended) {
      throw new Violation('fenced', `${run.runId} is ${run.status} in a sealed epoch`);
    }
    if (run.status === 'queued' && run.claimedEpoch > run.sealedEpoch) {
      throw new Violation(
        'fenced',
        `${run.runId} is queued again and epoch ${run.epoch} not sealed`,
      );
    }
  }

  #counter(image: Image | undefined): void {
    if (!image) return;
    const tenantId = image.tenantId?.S ?? '';
    const name = `${tenantId}#${image.shard?.N}`;
    this.#counters.set(name, { tenantId, live: Number(image.live?.N) });
  }

  #day(image: Image): void {
    const count = (name: string) => Number(image[name]?.N ?? 0);
    this.days.set(`${image.pk?.S}/${image.sk?.S}`, {
      attempts: count('attempts'),
      inputTokens: count('sum_inputTokens'),
    });
  }

  #quotas(): void {
    const held = new Map<string, number>();
    for (const { tenantId, status } of this.runs.values()) {
      if (status && isActive(status)) held.set(tenantId, (held.get(tenantId) ?? 0) + 1);
    }
    const counted = new Map<string, number>();
    for (const { tenantId, live } of this.#counters.values()) {
      if (tenantId !== '*') counted.set(tenantId, (counted.get(tenantId) ?? 0) + live);
    }
    for (const tenantId of new Set([...held.keys(), ...counted.keys()])) {
      const holds = held.get(tenantId) ?? 0;
      const counts = counted.get(tenantId) ?? 0;
      if (holds !== counts) {
        throw new Violation('quota-counted', `${tenantId}: ${holds} live, ${counts} counted`);
      }
      if (holds > this.#tenantLimit) {
        throw new Violation('quota-counted', `${tenantId}: ${holds} live of ${this.#tenantLimit}`);
      }
    }
  }
}

function usageOf(attribute: AttributeValue | undefined): Record<string, number> {
  return Object.fromEntries(
    Object.entries(attribute?.M ?? {}).map(([name, value]) => [name, Number(value.N)]),
  );
}
