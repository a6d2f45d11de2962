// Builds the frames of a job on sockets, with one method for each type. Live frames, replayed events, the state of a job and refused commands come from
// the same methods, so that they agree.
import type * as contract from '../../../generated/types.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { LogSeverity, OutputChunk, ToolReport } from '../../engine/node-api/node-context.ts'
import { formatFrameType } from '../../engine/node-api/values/type-label.ts'
import type { TypeMetadata } from '../../engine/node-api/values/type-metadata.ts'
import type { EdgeStatus, NodeStatus } from '../../engine/runtime/run/observer.ts'
import { problemFields, type ServiceError } from '../../errors.ts'
import type { EventBody, JobFrame } from '../../events/types.ts'
import { isTerminal, toSocketStatus } from '../state-machine.ts'

type EventOf<Type extends EventBody['type']> = Extract<EventBody, { type: Type }>

type JobUpdateFields = Partial<
  Pick<contract.JobQueuedUpdate, 'queue_position'> &
    Pick<contract.JobCompletedUpdate, 'result' | 'sequence' | 'duration'> &
    Pick<contract.JobFailedUpdate, 'error' | 'code' | 'message'>
>

interface JobState extends Pick<JobTable, 'status' | 'started_at' | 'finished_at'> {
  /** The message of the error. */
  readonly error: string | null
  /** The lists of values by output, for a job with a result. */
  readonly outputs: Record<string, unknown[]> | null
}

/** An output node. */
interface FrameOutput {
  readonly node_id: string
  readonly node_name: string
  readonly output_name: string
  /** Null for an output that the graph does not have. */
  readonly type: TypeMetadata | null
}

/** The status of a node in events. */
export function toEventStatus(status: NodeStatus): Exclude<EventOf<'node_status'>['status'], 'pending'> {
  return status === 'error' ? 'failed' : status
}

export class JobFrames {
  readonly #ids: { readonly job_id: string; readonly workflow_id: string | null }

  constructor(job_id: string, workflow_id: string | null) {
    this.#ids = { job_id, workflow_id }
  }

  /** `more`: further fields, in the order of the frame. */
  jobUpdate(status: contract.JobUpdateFrame['status'], more: JobUpdateFields = {}): contract.JobUpdateFrame {
    return { type: 'job_update', status, ...this.#ids, ...more } as contract.JobUpdateFrame
  }

  /** The frame of a `job_status` event; null for a status that sockets do not show. */
  jobStatus({ status, queue_position }: EventOf<'job_status'>): contract.JobUpdateFrame | null {
    if (status !== 'queued' && status !== 'running' && status !== 'suspended') return null
    return this.jobUpdate(status, queue_position === null ? {} : { queue_position })
  }

  /** The state of a job; for a job that has ended, the frame of its terminal event. */
  jobState(
    { status, error, outputs, started_at, finished_at }: JobState,
    { queue_position, sequence }: { readonly queue_position?: number; readonly sequence?: number } = {},
  ): contract.JobUpdateFrame {
    return this.jobUpdate(toSocketStatus(status), {
      ...(queue_position ? { queue_position } : {}),
      ...(error === null ? {} : { error }),
      ...(outputs === null ? {} : { result: { outputs: outputs as contract.JobResult['outputs'] } }),
      ...(sequence === undefined ? {} : { sequence }),
      ...(isTerminal(status) ? { duration: computeDuration(started_at, finished_at) } : {}),
    })
  }

  /** The frame for a failed command: clients take it for the end of the job. It also has the fields of every refusal. */
  failedCommand(error: ServiceError): contract.JobUpdateFrame {
    const { code, publicMessage: message } = error
    return this.jobUpdate('failed', { error: message, code, message, ...problemFields(error) })
  }

  /** The frame of a `node_status` event; null for a status that sockets do not show. */
  nodeUpdate(
    { node_id, node_type, status, error }: EventOf<'node_status'>,
    node_name: string,
    result: Readonly<Record<string, unknown>> | null,
  ): contract.NodeUpdateFrame | null {
    if (status === 'pending') return null
    return {
      type: 'node_update',
      ...this.#ids,
      node_id,
      node_name,
      node_type,
      status: status === 'failed' ? 'error' : status,
      ...(error === undefined ? {} : { error }),
      result: result as contract.NodeUpdateFrame['result'],
    }
  }

  outputUpdate(
    { node_id, node_name, output_name, type }: FrameOutput,
    value: unknown,
    disposition: contract.OutputUpdateFrame['disposition'],
  ): contract.OutputUpdateFrame {
    return {
      type: 'output_update',
      ...this.#ids,
      node_id,
      node_name,
      output_name,
      output_type: type ? formatFrameType(type) : 'any',
      value: value as contract.JsonValue,
      disposition,
    }
  }

  chunk(node_id: string, chunk: OutputChunk): contract.ChunkFrame {
    return { type: 'chunk', ...this.#ids, node_id, ...chunk }
  }

  edgeUpdate(edge_id: string, status: EdgeStatus, counter: number): contract.EdgeUpdateFrame {
    return { type: 'edge_update', ...this.#ids, edge_id, status, counter }
  }

  nodeProgress(node_id: string, progress: number, total: number): contract.NodeProgressFrame {
    return { type: 'node_progress', ...this.#ids, node_id, progress, total }
  }

  toolReport(node_id: string, report: ToolReport): JobFrame {
    const { tool_call_id, name } = report
    const call = { ...this.#ids, node_id, tool_call_id, name }
    return report.kind === 'call'
      ? { type: 'tool_call_update', ...call, arguments: report.arguments as Record<string, contract.JsonValue> }
      : { type: 'tool_result_update', ...call, result: report.result as contract.JsonValue, error: report.error }
  }

  logUpdate(node_id: string, content: string, severity: LogSeverity): contract.LogUpdateFrame {
    return { type: 'log_update', ...this.#ids, node_id, content, severity }
  }
}

/** Seconds from start to end; 0 for a job that never started. */
function computeDuration(started_at: string | null, finished_at: string | null): number {
  if (started_at === null || finished_at === null) return 0
  return (Date.parse(finished_at) - Date.parse(started_at)) / 1000
}
