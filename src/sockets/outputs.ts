// The outputs of a job as they stand, for a socket that comes back.
import type { AppContext } from '../context.ts'
import { jobEventsOfType } from '../db/job-events.ts'
import type { JobTable } from '../db/schema.ts'

interface OutputPayload {
  output_name: string
  value?: unknown
  asset?: unknown
}

/**
 * The outputs that have an event after `told`, each with its whole value so far: of a streamed text the text, joined; of
 * another stream the list of its items.
 */
export function changedOutputs(
  app: AppContext,
  row: JobTable,
  told: number,
): { output_name: string; value: unknown }[] {
  const events = app.store.read((tx) => jobEventsOfType(tx, row.key, 'output_update', 0))
  const values = new Map<string, unknown[]>()
  const changed = new Set<string>()
  for (const { sequence, payload } of events) {
    const { output_name, value, asset } = JSON.parse(payload) as OutputPayload
    const items = values.get(output_name)
    if (items) items.push(asset ?? value)
    else values.set(output_name, [asset ?? value])
    if (sequence > told) changed.add(output_name)
  }
  const streams = new Set(app.jobs.planOf(row).outputs.flatMap(({ name, stream }) => (stream ? [name] : [])))
  return [...changed].map((output_name) => {
    const items = values.get(output_name)!
    return { output_name, value: streams.has(output_name) ? joined(items) : items.at(-1) }
  })
}

function joined(items: readonly unknown[]): unknown {
  return items.every((item) => typeof item === 'string') ? items.join('') : items
}
