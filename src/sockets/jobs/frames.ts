// Makes frames of `/ws` from stored jobs and events, for clients that missed the live frames. Names and types come from the job's graph.
import type { JobError, OutputUpdateFrame } from '../../../generated/types.ts'
import type { RunServices } from '../../context.ts'
import { ownerScopeKey } from '../../db/owner-scope.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import type { EventBody, EventFrame } from '../../events/types.ts'
import { JobFrames } from '../../jobs/history/job-frames.ts'
import { toOutputLists } from '../../jobs/outputs/result-manifest.ts'
import { readJobResult } from '../../jobs/snapshot.ts'
import { isTerminal } from '../../jobs/state-machine.ts'
import type { ResponseReader } from '../../net/response-buffers.ts'

/** The present state of a job as a `job_update`; for a job that has ended, its last event. The job may have a large result or graph. */
export async function loadJobUpdate(
  row: JobTable,
  runs: RunServices,
  { queue_position, reader }: { readonly queue_position?: number; readonly reader?: ResponseReader } = {},
): Promise<EventFrame> {
  const result = await readJobResult(runs, row, reader)
  if (result !== null) await runs.jobs.preparePlan(row)
  const { status, started_at, finished_at } = row
  const error = row.error === null ? null : (JSON.parse(row.error) as JobError).message
  const outputs = result && toOutputLists(runs.jobs.planOf(row), result.outputs)
  return new JobFrames(row.id, row.workflow_id).jobState(
    { status, error, outputs, started_at, finished_at },
    { queue_position, sequence: isTerminal(status) ? row.last_sequence : undefined },
  )
}

/** The frames of stored events and outputs of one job. */
export class StoredJobFrames {
  readonly #row: JobTable
  readonly #runs: RunServices
  readonly #frames: JobFrames

  constructor(row: JobTable, runs: RunServices) {
    this.#row = row
    this.#runs = runs
    this.#frames = new JobFrames(row.id, row.workflow_id)
  }

  /** The frame of an event; null for an event that sockets do not show. */
  ofEvent(event: EventBody, sequence: number): EventFrame | null {
    const frame = this.#build(event, sequence)
    if (frame) frame.sequence = sequence
    return frame
  }

  #build(event: EventBody, sequence: number): EventFrame | null {
    switch (event.type) {
      case 'job_status':
        return this.#frames.jobStatus(event)
      case 'node_status':
        return this.#frames.nodeUpdate(event, this.#nodeName(event.node_id), null)
      case 'output_update':
        return this.ofOutput(event.output_name, 'value' in event ? event.value : event.asset, 'append')
      case 'job_terminal': {
        const { result, error, finished_at, started_at } = event.snapshot
        const outputs = result && toOutputLists(this.#plan, result.outputs)
        const state = { status: event.status, error: error?.message ?? null, outputs, started_at, finished_at }
        return this.#frames.jobState(state, { sequence })
      }
    }
  }

  /** A value of an output as a frame. */
  ofOutput(output_name: string, value: unknown, disposition: OutputUpdateFrame['disposition']): OutputUpdateFrame {
    const { node_id, type } = this.#plan.outputByName.get(output_name) ?? { node_id: output_name, type: null }
    const output = { node_id, node_name: this.#nodeName(node_id), output_name, type }
    return this.#frames.outputUpdate(output, value, disposition)
  }

  get #plan(): Plan {
    return this.#runs.jobs.planOf(this.#row)
  }

  #nodeName(node_id: string): string {
    const { nodes, indexById } = this.#plan
    const name = nodes[indexById.get(node_id) ?? -1]?.observed.node_name
    return name === undefined ? node_id : this.#runs.redactor.forOwner(ownerScopeKey(this.#row)).text(name)
  }
}
