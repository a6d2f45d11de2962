// Turns what the engine says of a run into events and frames of its job.
import { sizeOf } from '../engine/measure.ts'
import type { NodeStatus, ObservedNode, RunObserver } from '../engine/observer.ts'
import { typeText } from '../engine/types.ts'
import type { EventBody, JobFrame } from '../events/types.ts'
import { type Log, logNodeFailure } from '../log.ts'
import type { Published } from './publication.ts'

interface Sink {
  readonly row: { readonly id: string; readonly workflow_id: string }
  append(event: EventBody, frame: JobFrame | null): void
  provisional(frame: () => JobFrame): void
  /** Whether the history has said this of a node before an interruption. */
  toldNode(node_id: string, status: string): boolean
  /** What is to be shown of a value; null: the history has it already. */
  publish(node_id: string, output_name: string, value: unknown): Published | null
  redact<T>(value: T): T
  unwritable(node_id: string, output_name: string): void
}

/** About how many characters the result of a node may have to be shown in its frame: the outputs of the job come whole. */
const LARGEST_RESULT = 1_000_000

const EVENT_STATUS: Readonly<Record<NodeStatus, 'running' | 'completed' | 'failed' | 'skipped'>> = {
  running: 'running',
  completed: 'completed',
  skipped: 'skipped',
  error: 'failed',
}

/** The observer of one job's run. Node and output changes become durable events; the rest is shown live only. */
export function recorder(job: Sink, log: Log): RunObserver {
  const { id: job_id, workflow_id } = job.row
  const of = { job_id, workflow_id }
  const named = ({ node_id, node_name, node_type }: ObservedNode) => ({
    node_id,
    node_name: job.redact(node_name),
    node_type,
  })
  return {
    nodeUpdated(node, status, detail) {
      const { node_id, node_type } = node
      if (job.toldNode(node_id, EVENT_STATUS[status])) return
      const result = detail?.result && sizeOf(detail.result) <= LARGEST_RESULT ? job.redact(detail.result) : null
      const error = detail?.error === undefined ? {} : { error: job.redact(detail.error) }
      job.append({ type: 'node_status', node_id, node_type, status: EVENT_STATUS[status], progress: null, ...error }, {
        type: 'node_update',
        ...of,
        ...named(node),
        status,
        ...error,
        result,
      } as JobFrame)
    },
    output(node, output_name, value, type) {
      const { node_id } = node
      try {
        const published = job.publish(node_id, output_name, value)
        if (!published) return
        const { value: shown, asset } = published
        const what = { value: shown as never, ...(asset ? { asset } : {}) }
        job.append({ type: 'output_update', output_name, ...what }, {
          type: 'output_update',
          ...of,
          node_id,
          node_name: job.redact(node.node_name),
          output_name,
          output_type: typeText(type),
          value: shown,
          disposition: 'append',
        } as JobFrame)
      } catch (cause) {
        job.unwritable(node_id, output_name)
        throw cause
      }
    },
    edgeUpdated(edge_id, status, counter) {
      job.provisional(() => ({ type: 'edge_update', ...of, edge_id, status, counter }) as JobFrame)
    },
    progress({ node_id }, progress, total) {
      job.provisional(() => ({ type: 'node_progress', ...of, node_id, progress, total }) as JobFrame)
    },
    chunk({ node_id }, chunk) {
      job.provisional(
        () => ({ type: 'chunk', ...of, node_id, ...chunk, content: job.redact(chunk.content) }) as JobFrame,
      )
    },
    log({ node_id }, severity, content) {
      job.provisional(
        () => ({ type: 'log_update', ...of, node_id, content: job.redact(content), severity }) as JobFrame,
      )
    },
    fault({ node_id, node_type }, cause, told) {
      logNodeFailure(log, cause, told, { job_id, node_id, node_type })
    },
  }
}
