// The outputs of a job as they stand, for a socket that comes back.
import type { AppContext } from '../context.ts'
import { jobEventsOfType } from '../db/job-events.ts'
import { trimmedOutputs } from '../db/job-trimming.ts'
import type { JobEventTable, JobTable } from '../db/schema.ts'
import { scopedKey, userKey } from '../db/scope.ts'
import { measuredSteps } from '../engine/measure.ts'
import type { Plan } from '../engine/plan.ts'
import { parseSteps } from '../events/lazy-event.ts'
import { doFor, type Reader } from '../held-answers.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Steps } from '../time-slices.ts'

interface OutputPayload {
  output_name: string
  value?: unknown
  asset?: unknown
}

export interface ChangedOutput {
  readonly output_name: string
  readonly value: unknown
  /** Of the last event in the value. */
  readonly sequence: number
}

/**
 * The outputs that have an event after `told`, each with its whole value so far: of a streamed text the text, joined, in
 * which a secret may stand whole that an earlier version stored in pieces; of another stream the list of its items. Outputs whose first values are not kept any
 * more are left out: the end of the job tells them whole.
 */
export async function changedOutputs(
  app: AppContext,
  row: JobTable,
  told: number,
  reader?: Reader,
): Promise<ChangedOutput[]> {
  if (told >= row.last_sequence) return []
  // Events with large values take long to read, and are read in the turns of their owner.
  await app.slices.turn(userKey(row))
  if (outputEvents(app, row, told).length === 0) return []
  await app.jobs.preparePlan(row)
  const steps = changedSteps(app, row, told, streamsOf(app.jobs.planOf(row)))
  return doFor(reader, measuredSteps(steps), (work) => app.slices.run(userKey(row), work))
}

function streamsOf({ outputs }: Plan): ReadonlySet<string> {
  return new Set(outputs.flatMap(({ name, stream }) => (stream ? [name] : [])))
}

function* changedSteps(
  app: AppContext,
  row: JobTable,
  told: number,
  streams: ReadonlySet<string>,
): Steps<ChangedOutput[]> {
  const changed = new Map<string, number>()
  const values = new Map<string, unknown[]>()
  let seen = 0
  for (let events = outputEvents(app, row, seen); events.length > 0; events = outputEvents(app, row, seen)) {
    for (const { sequence, payload } of events) {
      const { output_name, value, asset } = (yield* parseSteps(payload)) as OutputPayload
      if (sequence > told) changed.set(output_name, sequence)
      // Beside an asset the value says more of it; events that were stored earlier have the asset alone.
      const item = value === undefined ? asset : value
      const items = values.get(output_name)
      if (items) items.push(item)
      else values.set(output_name, [item])
      seen = sequence
    }
    yield
  }
  // Asked for last: the history may have been trimmed meanwhile.
  for (const { output_name } of app.store.read((tx) => trimmedOutputs(tx, row.key))) changed.delete(output_name)
  const found: ChangedOutput[] = []
  for (const [output_name, sequence] of changed) {
    const items = values.get(output_name)!
    const value = streams.has(output_name) ? yield* joinedSteps(items, app.redactor.of(scopedKey(row))) : items.at(-1)
    found.push({ output_name, value, sequence })
  }
  return found
}

/** The next ones, none where there are no more; no later ones than the row knows of. */
function outputEvents(app: AppContext, { key, last_sequence }: JobTable, after: number): JobEventTable[] {
  if (after >= last_sequence) return []
  const events = app.store.read((tx) => jobEventsOfType(tx, key, 'output_update', after))
  return events.filter(({ sequence }) => sequence <= last_sequence)
}

function* joinedSteps(items: readonly unknown[], redactor: Redactor): Steps<unknown> {
  return items.every((item) => typeof item === 'string') ? yield* redactor.textSteps(items.join('')) : items
}
