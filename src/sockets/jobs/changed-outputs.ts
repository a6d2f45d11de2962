// Lists the changed outputs of a job for a socket that reconnects.
import { listJobEventsOfType } from '../../db/jobs/events.ts'
import { countTrimmedOutputValues } from '../../db/jobs/history-trimming.ts'
import { ownerScopeKey, userShareKey } from '../../db/owner-scope.ts'
import type { Store } from '../../db/store.ts'
import type { JobEventTable, JobTable } from '../../db/tables/jobs.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import { makeMeasuredSteps } from '../../engine/node-api/values/measure.ts'
import { parseJsonTextSteps } from '../../events/lazy-event.ts'
import type { JobService } from '../../jobs/service.ts'
import { type ResponseReader, runForReader } from '../../net/response-buffers.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import type { Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'

interface ChangedOutputSources {
  readonly store: Pick<Store, 'read'>
  readonly jobs: Pick<JobService, 'preparePlan' | 'planOf'>
  readonly slices: Pick<TimeSliceScheduler, 'turn' | 'run'>
  readonly redactor: { forOwner(owner: string): OwnerRedactor }
}

type OwnerRedactor = Pick<Redactor, 'textSteps'>

interface OutputPayload {
  output_name: string
  value?: unknown
  asset?: unknown
}

export interface ChangedOutput {
  readonly output_name: string
  readonly value: unknown
  /** The sequence of the last event in the value. */
  readonly sequence: number
}

/**
 * The outputs with an event after `after`, each with its whole value so far. A streamed text is joined and redacted again, since a secret may be
 * split across stored events; another stream is the list of its items. Outputs whose first values were trimmed are omitted: the end of the job has
 * them whole.
 */
export async function listChangedOutputs(
  runs: ChangedOutputSources,
  row: JobTable,
  after: number,
  reader?: ResponseReader,
): Promise<ChangedOutput[]> {
  if (after >= row.last_sequence) return []
  // Large values take long to read, so this waits for a turn of the owner.
  await runs.slices.turn(userShareKey(row))
  if (readOutputEvents(runs, row, after).length === 0) return []
  await runs.jobs.preparePlan(row)
  const steps = collectChangedSteps(runs, row, after, streamsOf(runs.jobs.planOf(row)))
  return runForReader(reader, makeMeasuredSteps(steps), (work) => runs.slices.run(userShareKey(row), work))
}

function streamsOf({ outputs }: Plan): ReadonlySet<string> {
  return new Set(outputs.flatMap(({ name, stream }) => (stream ? [name] : [])))
}

function* collectChangedSteps(
  runs: ChangedOutputSources,
  row: JobTable,
  after: number,
  streams: ReadonlySet<string>,
): Steps<ChangedOutput[]> {
  const changed = new Map<string, number>()
  const values = new Map<string, unknown[]>()
  let seen = 0
  for (let events = readOutputEvents(runs, row, seen); events.length > 0; events = readOutputEvents(runs, row, seen)) {
    for (const { sequence, payload } of events) {
      const { output_name, value, asset } = (yield* parseJsonTextSteps(payload)) as OutputPayload
      if (sequence > after) changed.set(output_name, sequence)
      // The value says more than the asset; older events have only the asset.
      const item = value === undefined ? asset : value
      const items = values.get(output_name)
      if (items) items.push(item)
      else values.set(output_name, [item])
      seen = sequence
    }
    yield
  }
  // Read last, since the history may have been trimmed meanwhile.
  for (const { output_name } of runs.store.read((tx) => countTrimmedOutputValues(tx, row.key)))
    changed.delete(output_name)
  const outputs: ChangedOutput[] = []
  for (const [output_name, sequence] of changed) {
    const items = values.get(output_name)!
    const value = streams.has(output_name)
      ? yield* joinItemsSteps(items, runs.redactor.forOwner(ownerScopeKey(row)))
      : items.at(-1)
    outputs.push({ output_name, value, sequence })
  }
  return outputs
}

/** The next events up to the row's last sequence; empty at the end. */
function readOutputEvents(
  runs: ChangedOutputSources,
  { key, last_sequence }: JobTable,
  after: number,
): JobEventTable[] {
  if (after >= last_sequence) return []
  const events = runs.store.read((tx) => listJobEventsOfType(tx, key, 'output_update', after))
  return events.filter(({ sequence }) => sequence <= last_sequence)
}

function* joinItemsSteps(items: readonly unknown[], redactor: OwnerRedactor): Steps<unknown> {
  return items.every((item) => typeof item === 'string') ? yield* redactor.textSteps(items.join('')) : items
}
