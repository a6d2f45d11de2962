// Ends a job: updates its row for good, and builds the terminal event and frame.
import type { ResultManifest } from '../../../generated/types.ts'
import type { JobTable } from '../../db/schema.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import { LazyTerminalEvent } from '../../events/lazy-event.ts'
import type { EventBody, EventFrame } from '../../events/types.ts'
import { stringifyWithBase64 } from '../../shared/json.ts'
import type { JobEnding } from '../job-endings.ts'
import type { JobJournal } from '../journal/job-journal.ts'
import type { PreparedResult } from '../outputs/large-value-preparer.ts'
import type { OutputPublication, OutputPublisher } from '../outputs/publication.ts'
import { buildResultManifest } from '../outputs/result-manifest.ts'
import { buildEndSnapshot } from '../snapshot.ts'
import { requireNextStatus, toPublicStatus } from '../state-machine.ts'
import { buildJobUpdateFrame } from './job-update-frame.ts'

export interface TerminatingJob {
  readonly row: JobTable
  readonly plan: Plan
  readonly publication: OutputPublication
  readonly publisher: OutputPublisher
  /** Called only where there is a result. */
  readonly journal: () => JobJournal
  /** A large result that was prepared in advance. */
  readonly ready: PreparedResult | null
  /** The sequence of the terminal event. */
  readonly sequence: number
  /** The current time, RFC 3339. */
  readonly now: string
}

/** Changes the row to its final state. @throws what serializing the result throws; the row is unchanged then */
export function terminateJob(
  job: TerminatingJob,
  { trigger, error, completed }: JobEnding,
): { event: EventBody; frame: EventFrame } {
  const { row, publication, publisher, ready, now } = job
  // `node_id` is not redacted: the workflow shows it anyway, and readers need it to find the node.
  const message = error && publisher.redactMessage(error.message)
  const shownError = error && { ...publisher.redact(error), message: message!, node_id: error.node_id }
  const result = completed ? (ready ?? { text: stringifyWithBase64(buildTerminalManifest(job)), parts: null }) : null
  row.status = requireNextStatus(row.status, trigger)
  row.updated_at = now
  row.finished_at = now
  row.waiting = null
  row.wake_at = null
  row.error = shownError && JSON.stringify(shownError)
  row.result = result?.text ?? null
  row.result_parts = result?.parts ?? null
  // The snapshot inside the event counts the event itself.
  row.last_sequence = job.sequence
  const frame = buildJobUpdateFrame(row, {
    ...(shownError ? { error: shownError.message } : {}),
    ...(completed ? { result: { outputs: publication.lists } } : {}),
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

function buildTerminalManifest({ row, plan, publication, publisher, journal, now }: TerminatingJob): ResultManifest {
  const { params, spending } = journal()
  return buildResultManifest({
    row,
    plan,
    publication,
    inputs: publisher.provenance(params),
    spending,
    completed_at: now,
  })
}

/** Seconds from start to end; 0 for a job that never started. */
export function computeJobDuration(row: JobTable): number {
  if (row.started_at === null || row.finished_at === null) return 0
  return (Date.parse(row.finished_at) - Date.parse(row.started_at)) / 1000
}
