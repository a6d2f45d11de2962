// Turns what the engine says of a run into events and frames of its job.

import type { OutputChunk, OutputValues, ToolReport } from '../../engine/node-api/node-type.ts'
import { estimateSize } from '../../engine/node-api/values/measure.ts'
import { formatType, type TypeMetadata } from '../../engine/node-api/values/type-metadata.ts'
import type { NodeStatus, NodeUpdateDetail, ObservedNode, RunObserver } from '../../engine/runtime/run/observer.ts'
import { ServiceError } from '../../errors.ts'
import { setValueText } from '../../events/stored-event-codec.ts'
import type { EventBody, EventFrame, JobFrame } from '../../events/types.ts'
import { type Log, logNodeFailure } from '../../log.ts'
import type { EventWithFrame } from '../journal/entry.ts'
import type { PublishedOutputValue } from '../outputs/publication.ts'
import { ChunkRedactor, type RedactingTextStream } from './chunk-redactor.ts'

interface RunRecorderSink {
  readonly row: { readonly id: string; readonly workflow_id: string }
  append(event: EventBody, frame: EventFrame | null): void
  provisional(frame: () => JobFrame): void
  /** Whether the history has said this of a node before an interruption. */
  toldNode(node_id: string, status: string): boolean
  /** Whether even a small value of an output is to be made ready for `publish`. */
  holdsMuch?(output_name: string): boolean
  /** Makes a large value of an output ready for `publish`. It does not reject: `publish` throws then. */
  preparePublish?(node_id: string, output_name: string, value: unknown): Promise<void>
  /** What is to be shown now that an output has a further value. The history has none of it yet. */
  publish(node_id: string, output_name: string, value: unknown): readonly PublishedOutputValue[]
  /** The same where an output has no further value. `whole`: it came to its end, and was not cut. */
  publishRest(output_name: string, whole: boolean): readonly PublishedOutputValue[]
  redact<T>(value: T): T
  /** As `redact`, of what is large: in time slices where it takes long, and at once otherwise. */
  redactLarge?<T>(value: T): T | Promise<T>
  /** For a message, which may quote texts and cut them. */
  redactMessage(text: string): string
  /** For the pieces of one text. */
  textStream(): RedactingTextStream
  unwritable(node_id: string, output_name: string, cause: unknown): void
  /** As of `RunObserver`. */
  backlog?(): Promise<void> | null
}

/** About how many characters the result of a node may have to be shown in its frame: the outputs of the job come whole. */
const MAX_RESULT_CHARACTERS = 1_000_000
/** Of more characters the secrets are replaced before it is told. */
const LARGE_RESULT_CHARACTERS = 16_384

const EVENT_STATUS: Readonly<Record<NodeStatus, 'running' | 'completed' | 'failed' | 'skipped'>> = {
  running: 'running',
  completed: 'completed',
  skipped: 'skipped',
  error: 'failed',
}

type ToolFrameFields = Pick<Extract<JobFrame, { type: 'tool_call_update' }>, 'job_id' | 'workflow_id' | 'node_id'>

function buildToolFrame(place: ToolFrameFields, told: ToolReport): JobFrame {
  const { tool_call_id, name } = told
  const call = { ...place, tool_call_id, name }
  return told.kind === 'call'
    ? ({ type: 'tool_call_update', ...call, arguments: told.arguments } as JobFrame)
    : ({ type: 'tool_result_update', ...call, result: told.result, error: told.error } as JobFrame)
}

/**
 * What is shown of the outputs of a firing. A text that is an item of a stream may be a part of a secret, which nobody can tell from the part: such
 * texts are told in order, as values of outputs and chunks.
 */
function pickVisibleResult({ result, streamed }: NodeUpdateDetail): OutputValues | null {
  if (!result || estimateSize(result) > MAX_RESULT_CHARACTERS) return null
  return Object.fromEntries(
    Object.entries(result).filter(([name, value]) => typeof value !== 'string' || !streamed?.has(name)),
  )
}

/** An output that got a value. */
interface RecordedOutput {
  readonly node: ObservedNode
  readonly output_name: string
  readonly type: TypeMetadata
}

export interface RunRecorder extends RunObserver {
  /** Tells what is held back of outputs and chunks: the run has ended. */
  settle(): void
  /** What `settle` would tell of outputs, to be told later. To be asked once: nothing more is told of this run. */
  takeRemainingOutputs(): EventWithFrame[]
}

/** The observer of one job's run. Node and output changes become durable events; the rest is shown live only. */
export function createRunRecorder(job: RunRecorderSink, log: Log): RunRecorder {
  const { id: job_id, workflow_id } = job.row
  const of = { job_id, workflow_id }
  const chunks = new ChunkRedactor(() => job.textStream())
  const outputs = new Map<string, RecordedOutput>()
  const results = new PreparedResults(job)
  const nodeFields = ({ node_id, node_name, node_type }: ObservedNode) => ({
    node_id,
    node_name: job.redact(node_name),
    node_type,
  })
  const buildOutputEvent = (
    { node, output_name, type }: RecordedOutput,
    { value: shown, asset, text }: PublishedOutputValue,
  ): EventWithFrame => {
    const what = { value: shown as never, ...(asset ? { asset } : {}) }
    const frame = {
      type: 'output_update',
      ...of,
      node_id: node.node_id,
      node_name: job.redact(node.node_name),
      output_name,
      output_type: formatType(type),
      value: shown,
      disposition: 'append',
    } as EventFrame
    const event: EventBody = { type: 'output_update', output_name, ...what }
    if (text !== null) setValueText(event, text)
    return [event, frame]
  }
  const appendOutputs = (output: RecordedOutput, published: readonly PublishedOutputValue[]) => {
    for (const one of published) job.append(...buildOutputEvent(output, one))
  }
  const redactToolMessage = (told: ToolReport): ToolReport => {
    const shown = job.redact(told)
    const hasError = told.kind === 'result' && told.error !== null
    return hasError ? ({ ...shown, error: job.redactMessage(told.error) } as ToolReport) : shown
  }
  const publishChunks = (node_id: string, told: readonly OutputChunk[]) => {
    for (const chunk of told) job.provisional(() => ({ type: 'chunk', ...of, node_id, ...chunk }) as JobFrame)
  }
  /** Nothing more comes of a node. `whole`: it came to its end, and was not cut. */
  const close = (node_id: string, whole: boolean) => {
    publishChunks(node_id, chunks.close(node_id))
    const output = outputs.get(node_id)
    if (output) appendOutputs(output, job.publishRest(output.output_name, whole))
  }
  return {
    backlog: () => job.backlog?.() ?? null,
    settle() {
      for (const node_id of new Set([...chunks.openNodes, ...outputs.keys()])) close(node_id, false)
    },
    takeRemainingOutputs() {
      const restOf = (output: RecordedOutput) =>
        job.publishRest(output.output_name, false).map((one) => buildOutputEvent(output, one))
      return [...outputs.values()].flatMap(restOf)
    },
    nodeUpdated(node, status, detail) {
      const { node_id, node_type } = node
      if (status !== 'running') close(node_id, status !== 'error')
      const ready = results.take(node_id)
      if (job.toldNode(node_id, EVENT_STATUS[status])) return
      const result = status === 'completed' && ready ? ready : job.redact(detail ? pickVisibleResult(detail) : null)
      const error = detail?.error === undefined ? {} : { error: job.redactMessage(detail.error) }
      job.append({ type: 'node_status', node_id, node_type, status: EVENT_STATUS[status], progress: null, ...error }, {
        type: 'node_update',
        ...of,
        ...nodeFields(node),
        status,
        ...error,
        result,
      } as EventFrame)
    },
    prepareResult({ node_id }, detail) {
      if (estimateSize(detail.result) <= LARGE_RESULT_CHARACTERS || job.toldNode(node_id, EVENT_STATUS.completed))
        return null
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
      job.provisional(() => ({ type: 'edge_update', ...of, edge_id, status, counter }) as JobFrame)
    },
    progress({ node_id }, progress, total) {
      job.provisional(() => ({ type: 'node_progress', ...of, node_id, progress, total }) as JobFrame)
    },
    chunk({ node_id }, chunk, speaker) {
      publishChunks(node_id, chunks.push(node_id, chunk, speaker))
    },
    tool({ node_id }, told) {
      job.provisional(() => buildToolFrame({ ...of, node_id }, redactToolMessage(told)))
    },
    log({ node_id }, severity, content) {
      job.provisional(
        () => ({ type: 'log_update', ...of, node_id, content: job.redactMessage(content), severity }) as JobFrame,
      )
    },
    fault({ node_id, node_type }, cause, told) {
      if (!told && isHistoryFault(cause)) return
      const redact = (text: string) => job.redactMessage(text)
      logNodeFailure(log, cause, told, { job_id, node_id, node_type }, redact)
    },
  }
}

/** Results of nodes as they may be shown, by node, until they are told. */
class PreparedResults {
  readonly #job: Pick<RunRecorderSink, 'redactLarge'>
  readonly #ready = new Map<string, OutputValues>()

  constructor(job: Pick<RunRecorderSink, 'redactLarge'>) {
    this.#job = job
  }

  /** Null where it is ready at once. What goes wrong does so again when the result is told. */
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

/** Whether the history of the job could not be written, or what it remembers not be read: no node has failed then, and the log knows of the fault. */
function isHistoryFault(cause: unknown): boolean {
  return cause instanceof ServiceError && (cause.code === 'SERVICE_UNAVAILABLE' || cause.code === 'OUTCOME_UNKNOWN')
}
