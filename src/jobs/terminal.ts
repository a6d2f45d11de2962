// The end of a job: what its row says from then on, and the event and frame that tell it.
import type { ResultManifest } from '../../generated/types.ts'
import type { JobTable } from '../db/schema.ts'
import type { Plan } from '../engine/plan.ts'
import { JobEnd } from '../events/lazy-event.ts'
import type { EventBody, EventFrame } from '../events/types.ts'
import { jsonText } from '../json.ts'
import type { Ending } from './endings.ts'
import { jobFrame } from './job-frame.ts'
import type { ReadyResult } from './large-values.ts'
import { buildManifest } from './manifest.ts'
import type { JobMemory } from './memory.ts'
import type { Publication, Publisher } from './publication.ts'
import { endSnapshot } from './snapshot.ts'
import { moved, publicStatus } from './states.ts'

export interface EndingJob {
  readonly row: JobTable
  readonly plan: Plan
  readonly publication: Publication
  readonly publisher: Publisher
  /** Asked for only where there is a result. */
  readonly memory: () => JobMemory
  /** A large result, made ready before. */
  readonly ready: ReadyResult | null
  /** The sequence of the terminal event. */
  readonly sequence: number
  /** The present, RFC 3339. */
  readonly now: string
}

/** Changes the row for good. @throws what writing the result as text throws; the row is as it was then */
export function terminate(
  job: EndingJob,
  { trigger, error, completed }: Ending,
): { event: EventBody; frame: EventFrame } {
  const { row, publication, publisher, ready, now } = job
  // An id names its node to the reader of the workflow; whoever makes it a secret has shown it there.
  const message = error && publisher.redactMessage(error.message)
  const told = error && { ...publisher.redact(error), message: message!, node_id: error.node_id }
  const result = completed ? (ready ?? { text: jsonText(manifestOf(job)), parts: null }) : null
  row.status = moved(row.status, trigger)
  row.updated_at = now
  row.finished_at = now
  row.waiting = null
  row.wake_at = null
  row.error = told && JSON.stringify(told)
  row.result = result?.text ?? null
  row.result_parts = result?.parts ?? null
  // The snapshot inside the event counts the event itself.
  row.last_sequence = job.sequence
  const frame = jobFrame(row, {
    ...(told ? { error: told.message } : {}),
    ...(completed ? { result: { outputs: publication.lists } } : {}),
    duration: duration(row),
  })
  return {
    event: new JobEnd(publicStatus(row.status) as JobEnd['status'], endSnapshot(row, row.result)) as EventBody,
    frame,
  }
}

function manifestOf({ row, plan, publication, publisher, memory, now }: EndingJob): ResultManifest {
  const { params, spending } = memory()
  return buildManifest({ row, plan, publication, inputs: publisher.provenance(params), spending, completed_at: now })
}

/** Seconds from start to end; 0 for a job that never started. */
export function duration(row: JobTable): number {
  if (row.started_at === null || row.finished_at === null) return 0
  return (Date.parse(row.finished_at) - Date.parse(row.started_at)) / 1000
}
