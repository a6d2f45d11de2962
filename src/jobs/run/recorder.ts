// The observer of a run, which turns its reports into events and frames of the job.

import type { OutputValues } from '../../engine/node-api/firing-forms.ts'
import type { OutputChunk, ToolReport } from '../../engine/node-api/node-context.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import type { TypeMetadata } from '../../engine/node-api/values/type-metadata.ts'
import type { NodeUpdateDetail, ObservedNode, RunObserver } from '../../engine/runtime/run/observer.ts'
import { ServiceError } from '../../errors.ts'
import { setValueText } from '../../events/stored-event-codec.ts'
import type { EventBody, EventFrame, JobFrame } from '../../events/types.ts'
import { type Log, logNodeFailure } from '../../log.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { JobFrames, toEventStatus } from '../history/job-frames.ts'
import type { EventWithFrame } from '../journal/entry.ts'
import type { PublishedOutputValue } from '../outputs/publication.ts'
import { ChunkRedactor, type RedactingTextStream } from './chunk-redactor.ts'

export interface RunRecorderSink {
  readonly row: { readonly id: string; readonly workflow_id: string }
  append(event: EventBody, frame: EventFrame | null): void
  provisional(frame: () => JobFrame): void
  /** Whether this status of a node was published before an interruption. */
  toldNode(node_id: string, status: string): boolean
  /** Whether even a small value of an output must be prepared for `publish`. */
  holdsMuch?(output_name: string): boolean
  /** Prepares a large value of an output for `publish`. It does not reject: `publish` throws the error. */
  preparePublish?(node_id: string, output_name: string, value: unknown): Promise<void>
  /** Adds a value of an output, and returns the values that can be shown now and are not published yet. */
  publish(node_id: string, output_name: string, value: unknown): readonly PublishedOutputValue[]
  /** Returns the values held back of an output that gets no further value. `whole`: it ended, and was not cut off. */
  publishRest(output_name: string, whole: boolean): readonly PublishedOutputValue[]
  redact<T>(value: T): T
  /** `redact` for large values: in time slices where it takes long, and at once otherwise. */
  redactLarge?<T>(value: T): T | Promise<T>
  /** Redacts a message, which may quote parts of texts. */
  redactMessage(text: string): string
  /** Opens a redaction for the pieces of one text. */
  textStream(): RedactingTextStream
  unwritable(node_id: string, output_name: string, cause: unknown): void
  /** See `RunObserver`. */
  backlog?(): Promise<void> | null
}

/** A frame shows the result of a node up to about this many characters. The outputs of the job are shown whole. */
const MAX_RESULT_CHARACTERS = 1_000_000
/** A result with more characters is redacted in advance, in time slices. */
const LARGE_RESULT_CHARACTERS = 16_384

/**
 * The visible part of a firing's outputs. A text item of a stream may be a part of a secret, which cannot be told from the part. So such texts are shown
 * only in order, as output values and chunks.
 */
function pickVisibleResult({ result, streamed }: NodeUpdateDetail): OutputValues | null {
  if (!result || estimateSize(result) > MAX_RESULT_CHARACTERS) return null
  return Object.fromEntries(
    Object.entries(result).filter(([name, value]) => typeof value !== 'string' || !streamed?.has(name)),
  )
}

/** An output that has a value. */
interface RecordedOutput {
  readonly node: ObservedNode
  readonly output_name: string
  readonly type: TypeMetadata
}

export interface RunRecorder extends RunObserver {
  /** Publishes the held back output values and chunks at the end of the run. */
  settle(): void
  /** The number of characters of chunks that are held back. */
  readonly undecided: number
  /** Cuts the held back chunks off, so that `settle` finds their rests ready. */
  cutSteps(): Steps<void>
  /** The output events that `settle` would publish, for later. It is called once, after which the run publishes nothing more. */
  takeRemainingOutputs(): EventWithFrame[]
}

/** Creates the observer of one job's run. Node and output changes become durable events; other reports are only shown live. */
export function createRunRecorder(job: RunRecorderSink, log: Log): RunRecorder {
  const { id: job_id, workflow_id } = job.row
  const frames = new JobFrames(job_id, workflow_id)
  const chunks = new ChunkRedactor(() => job.textStream())
  const outputs = new Map<string, RecordedOutput>()
  const results = new PreparedResults(job)
  const buildOutputEvent = (
    { node: { node_id, node_name }, output_name, type }: RecordedOutput,
    { value, asset, text }: PublishedOutputValue,
  ): EventWithFrame => {
    const event: EventBody = { type: 'output_update', output_name, value: value as never, ...(asset ? { asset } : {}) }
    if (text !== null) setValueText(event, text)
    const output = { node_id, node_name: job.redact(node_name), output_name, type }
    return [event, frames.outputUpdate(output, value, 'append')]
  }
  const appendOutputs = (output: RecordedOutput, published: readonly PublishedOutputValue[]) => {
    for (const one of published) job.append(...buildOutputEvent(output, one))
  }
  const redactToolMessage = (report: ToolReport): ToolReport => {
    const shown = job.redact(report)
    const hasError = report.kind === 'result' && report.error !== null
    return hasError ? ({ ...shown, error: job.redactMessage(report.error) } as ToolReport) : shown
  }
  const publishChunks = (node_id: string, redacted: readonly OutputChunk[]) => {
    for (const chunk of redacted) job.provisional(() => frames.chunk(node_id, chunk))
  }
  /** Called when a node gives no more output. `whole`: its stream ended, and was not cut off. */
  const close = (node_id: string, whole: boolean) => {
    publishChunks(node_id, chunks.close(node_id))
    const output = outputs.get(node_id)
    if (output) appendOutputs(output, job.publishRest(output.output_name, whole))
  }
  return {
    backlog: () => job.backlog?.() ?? null,
    get undecided() {
      return chunks.waiting
    },
    cutSteps: () => chunks.cutSteps(),
    settle() {
      for (const node_id of new Set([...chunks.openNodes, ...outputs.keys()])) close(node_id, false)
    },
    takeRemainingOutputs() {
      const restOf = (output: RecordedOutput) =>
        job.publishRest(output.output_name, false).map((one) => buildOutputEvent(output, one))
      return [...outputs.values()].flatMap(restOf)
    },
    nodeUpdated({ node_id, node_name, node_type }, status, detail) {
      if (status !== 'running') close(node_id, status !== 'error')
      const ready = results.take(node_id)
      const shownStatus = toEventStatus(status)
      if (job.toldNode(node_id, shownStatus)) return
      const result = status === 'completed' && ready ? ready : job.redact(detail ? pickVisibleResult(detail) : null)
      const error = detail?.error === undefined ? {} : { error: job.redactMessage(detail.error) }
      const event = { type: 'node_status' as const, node_id, node_type, status: shownStatus, progress: null, ...error }
      job.append(event, frames.nodeUpdate(event, job.redact(node_name), result))
    },
    prepareResult({ node_id }, detail) {
      if (estimateSize(detail.result) <= LARGE_RESULT_CHARACTERS || job.toldNode(node_id, 'completed')) return null
      const result = pickVisibleResult(detail)
      return result && results.prepare(node_id, result)
    },
    holdsMuch: (output_name) => job.holdsMuch?.(output_name) === true,
    prepareOutput: ({ node_id }, output_name, value) => job.preparePublish?.(node_id, output_name, value) ?? null,
    output(node, output_name, value, type) {
      const output = { node, output_name, type }
      outputs.set(node.node_id, output)
      try {
        appendOutputs(output, job.publish(node.node_id, output_name, value))
      } catch (cause) {
        job.unwritable(node.node_id, output_name, cause)
        throw cause
      }
    },
    edgeUpdated(edge_id, status, counter) {
      job.provisional(() => frames.edgeUpdate(edge_id, status, counter))
    },
    progress({ node_id }, progress, total) {
      job.provisional(() => frames.nodeProgress(node_id, progress, total))
    },
    chunk({ node_id }, chunk, speaker) {
      publishChunks(node_id, chunks.push(node_id, chunk, speaker))
    },
    tool({ node_id }, report) {
      job.provisional(() => frames.toolReport(node_id, redactToolMessage(report)))
    },
    log({ node_id }, severity, content) {
      job.provisional(() => frames.logUpdate(node_id, job.redactMessage(content), severity))
    },
    fault({ node_id, node_type }, cause, told) {
      if (!told && isHistoryFault(cause)) return
      const redact = (text: string) => job.redactMessage(text)
      logNodeFailure(log, cause, told, { job_id, node_id, node_type }, redact)
    },
  }
}

/** Redacted results by node, until they are published. */
class PreparedResults {
  readonly #job: Pick<RunRecorderSink, 'redactLarge'>
  readonly #ready = new Map<string, OutputValues>()

  constructor(job: Pick<RunRecorderSink, 'redactLarge'>) {
    this.#job = job
  }

  /** Redacts a result; null where that is done at once. An error is ignored, since it occurs again when the result is published. */
  prepare(node_id: string, result: OutputValues): Promise<void> | null {
    const shown = this.#job.redactLarge?.(result)
    if (shown === undefined) return null
    const keep = (one: OutputValues) => void this.#ready.set(node_id, one)
    if (shown instanceof Promise) return shown.then(keep, () => {})
    keep(shown)
    return null
  }

  take(node_id: string): OutputValues | null {
    const found = this.#ready.get(node_id) ?? null
    this.#ready.delete(node_id)
    return found
  }
}

/** Whether the job's history could not be written, or its journal not be read. Then no node has failed, and the fault is logged already. */
function isHistoryFault(cause: unknown): boolean {
  return cause instanceof ServiceError && (cause.code === 'SERVICE_UNAVAILABLE' || cause.code === 'OUTCOME_UNKNOWN')
}
