// Ends a job: updates its row for good, and builds the terminal event and frame.
import type { JobTable } from '../../db/tables/jobs.ts'
import { LazyTerminalEvent } from '../../events/lazy-event.ts'
import type { EventBody, EventFrame } from '../../events/types.ts'
import type { JobEnding } from '../job-endings.ts'
import type { JobOutputs } from '../outputs/job-outputs.ts'
import { buildEndSnapshot } from '../snapshot.ts'
import { requireNextStatus, toPublicStatus } from '../state-machine.ts'
import { clearWaits } from '../waits/stored-waits.ts'
import { JobFrames } from './job-frames.ts'

export interface TerminatingJob {
  readonly row: JobTable
  readonly outputs: JobOutputs
  /** The sequence of the terminal event. */
  readonly sequence: number
  /** The current time, RFC 3339. */
  readonly now: string
}

/** Changes the row to its final state. @throws what serializing the result throws; the row is unchanged then */
export function terminateJob(
  { row, outputs, sequence, now }: TerminatingJob,
  { trigger, error, completed }: JobEnding,
): { event: EventBody; frame: EventFrame } {
  // `node_id` is not redacted: the workflow shows it anyway, and readers need it to find the node.
  const message = error && outputs.redactMessage(error.message)
  const shownError = error && { ...outputs.redact(error), message: message!, node_id: error.node_id }
  const result = completed ? outputs.buildResult(now) : null
  row.status = requireNextStatus(row.status, trigger)
  row.updated_at = now
  row.finished_at = now
  clearWaits(row)
  row.error = shownError && JSON.stringify(shownError)
  row.result = result?.text ?? null
  row.result_parts = result?.parts ?? null
  // The snapshot inside the event counts the event itself.
  row.last_sequence = sequence
  const { status, started_at, finished_at } = row
  const state = { status, started_at, finished_at, error: message, outputs: completed ? outputs.lists : null }
  const frame = new JobFrames(row.id, row.workflow_id).jobState(state)
  return {
    event: new LazyTerminalEvent(
      toPublicStatus(row.status) as LazyTerminalEvent['status'],
      buildEndSnapshot(row, row.result),
    ) as EventBody,
    frame,
  }
}
