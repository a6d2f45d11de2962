// What the run of one job publishes: events, live frames, and output values. Secrets are replaced, media is stored, large values are prepared in advance,
// and nothing is published twice after an interruption.
import type { ResultManifest } from '../../../generated/types.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import type { EventBody, EventFrame, JobFrame } from '../../events/types.ts'
import { stringifyWithBase64 } from '../../shared/json.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { writeResultParts, writeRowsEarly } from '../commit/early-writes.ts'
import type { JobWriter } from '../commit/job-writer.ts'
import type { JobTimestamps } from '../history/job-timestamps.ts'
import type { JobContext } from '../job-context.ts'
import { createUnwritableResultEnding, createUnwritableValueEnding, type JobEnding } from '../job-endings.ts'
import type { ActiveJournal } from '../journal/active-journal.ts'
import type { RedactingTextStream } from '../run/chunk-redactor.ts'
import type { RunRecorder, RunRecorderSink } from '../run/recorder.ts'
import { isLargeResult, LargeValuePreparer, type PreparedResult, type ResultValues } from './large-value-preparer.ts'
import { OutputPublication, type OutputPublisher, type PublishedOutputValue } from './publication.ts'
import { buildResultManifest, collectOutputValues } from './result-manifest.ts'

/** More characters that are held back are cut off in time slices: with very many similar secrets, each takes dozens of microseconds. */
const MUCH_HELD_BACK = 1_024

export interface JobOutputsParts {
  readonly row: JobTable
  readonly plan: Plan
  readonly user: string
  readonly context: JobContext
  readonly writer: JobWriter
  readonly journal: ActiveJournal
  readonly timestamps: JobTimestamps
  /** Called where a value cannot be stored: the job fails whatever the outcome of its run is. */
  onUnwritable(ending: JobEnding): void
}

export class JobOutputs implements RunRecorderSink {
  readonly row: JobTable
  readonly #parts: JobOutputsParts
  readonly #publisher: OutputPublisher
  readonly #publication: OutputPublication
  /** Null for most jobs, which have no large values. */
  #preparer: LargeValuePreparer | null = null
  #result: PreparedResult | null = null

  constructor(parts: JobOutputsParts) {
    this.row = parts.row
    this.#parts = parts
    this.#publisher = parts.context.publisherOf(parts.row)
    this.#publication = new OutputPublication(parts.row, parts.plan, this.#publisher)
  }

  append(event: EventBody, frame: EventFrame | null): void {
    this.#parts.writer.append(event, frame)
  }

  provisional(frame: () => JobFrame): void {
    this.#parts.writer.provisional(frame)
  }

  backlog(): Promise<void> | null {
    return this.#parts.writer.backlog()
  }

  toldNode(node_id: string, status: string): boolean {
    return this.#parts.journal.published?.hasNodeStatus(node_id, status) === true
  }

  redact<T>(value: T): T {
    return this.#publisher.redact(value)
  }

  redactLarge<T>(value: T): T | Promise<T> {
    return this.#parts.context.slices.doNow(this.#parts.user, this.#publisher.redactSteps(value))
  }

  redactMessage(text: string): string {
    return this.#publisher.redactMessage(text)
  }

  textStream(): RedactingTextStream {
    return this.#publisher.textStream()
  }

  publish(node_id: string, output_name: string, value: unknown): PublishedOutputValue[] {
    const published = this.#storeOrPostpone(() =>
      this.#publication.add(node_id, output_name, value, this.#preparer?.take(output_name)),
    )
    for (const { extras } of published) for (const extra of extras) this.#parts.writer.write(extra)
    return this.#withoutPublished(output_name, published)
  }

  publishRest(output_name: string, whole: boolean): PublishedOutputValue[] {
    return this.#withoutPublished(output_name, this.#publication.end(output_name, whole))
  }

  #withoutPublished(output_name: string, published: readonly PublishedOutputValue[]): PublishedOutputValue[] {
    const { journal } = this.#parts
    const unpublished = published.filter(() => !journal.published?.takeOutput(output_name))
    if (unpublished.length > 0) journal.rememberProgress()
    return unpublished
  }

  /** Runs `store`. Where the disk cannot be written, the job stops here and continues when there is space. */
  #storeOrPostpone<T>(store: () => T): T {
    try {
      return store()
    } catch (error) {
      if (isSystemError(error)) this.#parts.writer.fail(error)
      throw error
    }
  }

  unwritable(node_id: string, output_name: string, cause: unknown): void {
    this.#parts.onUnwritable(createUnwritableValueEnding(node_id, output_name, cause))
  }

  holdsMuch(output_name: string): boolean {
    return this.#publication.holdsMuch(output_name)
  }

  preparePublish(node_id: string, output_name: string, value: unknown): Promise<void> {
    return this.#openPreparer().prepare(node_id, output_name, value)
  }

  #openPreparer(): LargeValuePreparer {
    const { row, plan, user, context, writer } = this.#parts
    this.#preparer ??= new LargeValuePreparer({
      plan,
      publication: this.#publication,
      publisher: this.#publisher,
      slices: context.slices,
      owner: user,
      writeEarly: (extras) => writeRowsEarly(writer, row, extras),
      manifest: (large) => this.#buildManifest(large, this.#parts.timestamps.next()),
      writeResult: (parts) => writeResultParts(writer, row, parts),
    })
    return this.#preparer
  }

  /**
   * Cuts off what the run holds back, in time slices, once the run is over. Then `settle` and `takeRemainingOutputs` of the recorder find the rests ready.
   * Null where little is held back.
   */
  cutHeldBack(recorder: RunRecorder): Promise<void> | null {
    if (this.#publication.undecided + recorder.undecided <= MUCH_HELD_BACK) return null
    return this.#parts.context.slices.run(this.#parts.user, this.#cutSteps(recorder))
  }

  *#cutSteps(recorder: RunRecorder): Steps<void> {
    yield* this.#publication.cutSteps()
    yield* recorder.cutSteps()
  }

  /** Stores the outputs that the run holds back, to be published where the suspended job ends without being resumed. */
  holdBack(recorder: RunRecorder): void {
    const { journal } = this.#parts
    const outputs = recorder.takeRemainingOutputs()
    if (outputs.length > 0 || journal.current.suspendedOutputs.length > 0) journal.remember(['rest', outputs])
  }

  /** Publishes the outputs that were held back, where a suspended job ends. */
  publishHeldBack(): void {
    if (this.row.status !== 'paused') return
    for (const [event, frame] of this.#parts.journal.current.suspendedOutputs) this.append(event, frame)
  }

  /** All values that were published, by output. */
  get lists(): Record<string, unknown[]> {
    return this.#publication.lists
  }

  /** Prepares a large result before the job ends; null for a small result. It rejects where the result cannot be written. */
  prepareResult(): Promise<void> | null {
    const { params } = this.#parts.journal.current
    return isLargeResult(this.#publication, params) ? this.#openPreparer().prepareResult(params) : null
  }

  /** Builds the result of the job that completes `now`. @throws what serializing it throws */
  buildResult(now: string): PreparedResult {
    this.#result = this.#preparer?.result ?? this.#buildSmallResult(now)
    return this.#result
  }

  #buildSmallResult(now: string): PreparedResult {
    const { plan, journal } = this.#parts
    const inputs = this.#publisher.provenance(journal.current.params)
    const outputs = collectOutputValues(plan, this.lists)
    return { outputs, text: stringifyWithBase64(this.#buildManifest({ inputs, outputs }, now)), parts: null }
  }

  #buildManifest(values: ResultValues, completed_at: string): ResultManifest {
    const { row, journal } = this.#parts
    const { spending } = journal.current
    return buildResultManifest({ row, publication: this.#publication, spending, ...values, completed_at })
  }

  /** The ending of the job where its result cannot be written. */
  createUnwritableEnding(cause: unknown): JobEnding {
    this.#parts.context.log.error({ err: cause, job_id: this.row.id }, 'the result of a job could not be written')
    return createUnwritableResultEnding(cause)
  }

  /** The output values of the result; null: the job has no result. */
  get values(): PreparedResult['outputs'] | null {
    return this.row.result === null ? null : (this.#result?.outputs ?? null)
  }

  /** Whether the result was prepared in advance, so that the JSON texts of `values` are cached. */
  get isLarge(): boolean {
    return this.#preparer?.result != null
  }
}

/** Whether the error is one of the file system, as Node throws them. */
function isSystemError(error: unknown): boolean {
  return error instanceof Error && 'errno' in error && 'syscall' in error
}
