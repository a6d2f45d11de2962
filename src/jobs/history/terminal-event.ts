// Ends a job: updates its row for good, and builds the terminal event and frame.
import type { JobTable } from '../../db/schema.ts'
import { LazyTerminalEvent } from '../../events/lazy-event.ts'
import type { EventBody, EventFrame } from '../../events/types.ts'
import type { JobEnding } from '../job-endings.ts'
import type { JobOutputs } from '../outputs/job-outputs.ts'
import { buildEndSnapshot } from '../snapshot.ts'
import { requireNextStatus, toPublicStatus } from '../state-machine.ts'
import { clearWaits } from '../waits/stored-waits.ts'
import { buildJobUpdateFrame } from './job-update-frame.ts'

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
  const frame = buildJobUpdateFrame(row, {
    ...(shownError ? { error: shownError.message } : {}),
    ...(completed ? { result: { outputs: outputs.lists } } : {}),
    duration: computeJobDuration(row),
  })
  return {
    event: new LazyTerminalEvent(
      toPublicStatus(row.status) as LazyTerminalEvent['status'],
      buildEndSnapshot(row, row.result),
    ) as EventBody,
    frame,
  }
}

/** Seconds from start to end; 0 for a job that never started. */
export function computeJobDuration(row: JobTable): number {
  if (row.started_at === null || row.finished_at === null) return 0
  return (Date.parse(row.finished_at) - Date.parse(row.started_at)) / 1000
}
