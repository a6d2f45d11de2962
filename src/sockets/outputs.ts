// The outputs of a job as they stand, for a socket that comes back.
import type { AppContext } from '../context.ts'
import { jobEventsOfType } from '../db/job-events.ts'
import { trimmedOutputs } from '../db/job-trimming.ts'
import type { JobTable } from '../db/schema.ts'
import { scopedKey } from '../db/scope.ts'
import type { Redactor } from '../redaction/redactor.ts'

interface OutputPayload {
  output_name: string
  value?: unknown
  asset?: unknown
}

/**
 * The outputs that have an event after `told`, each with its whole value so far: of a streamed text the text, joined, in
 * which a secret may stand whole that an earlier version stored in pieces; of another stream the list of its items. Outputs whose first values are not kept any
 * more are left out: the end of the job tells them whole.
 */
export function changedOutputs(
  app: AppContext,
  row: JobTable,
  told: number,
): { output_name: string; value: unknown }[] {
  const later = payloadsAfter(app, row, told)
  if (later.length === 0) return []
  const trimmed = new Set(app.store.read((tx) => trimmedOutputs(tx, row.key)).map(({ output_name }) => output_name))
  const changed = new Set(later.map(({ output_name }) => output_name).filter((name) => !trimmed.has(name)))
  const values = new Map<string, unknown[]>()
  for (const { output_name, value, asset } of told === 0 ? later : payloadsAfter(app, row, 0)) {
    // Beside an asset the value says more of it; events that were stored earlier have the asset alone.
    const item = value === undefined ? asset : value
    const items = values.get(output_name)
    if (items) items.push(item)
    else values.set(output_name, [item])
  }
  const streams = new Set(app.jobs.planOf(row).outputs.flatMap(({ name, stream }) => (stream ? [name] : [])))
  return [...changed].map((output_name) => {
    const items = values.get(output_name)!
    return {
      output_name,
      value: streams.has(output_name) ? joined(items, app.redactor.of(scopedKey(row))) : items.at(-1),
    }
  })
}

function payloadsAfter(app: AppContext, row: JobTable, after: number): OutputPayload[] {
  if (after >= row.last_sequence) return []
  const events = app.store.read((tx) => jobEventsOfType(tx, row.key, 'output_update', after))
  return events.map(({ payload }) => JSON.parse(payload) as OutputPayload)
}

function joined(items: readonly unknown[], redactor: Redactor): unknown {
  return items.every((item) => typeof item === 'string') ? redactor.text(items.join('')) : items
}
