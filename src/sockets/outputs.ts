// The outputs of a job as they stand, for a socket that comes back.
import type { AppContext } from '../context.ts'
import { jobEventsOfType } from '../db/job-events.ts'
import type { JobTable } from '../db/schema.ts'
import type { PlanOutput } from '../engine/plan.ts'

interface OutputPayload {
  output_name: string
  value?: unknown
  asset?: unknown
}

/**
 * The outputs that have an event after `told`, each with its whole value so far: of a streamed text (a streamed output of
 * type `str`) the text, joined; of another stream the list of its items.
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
  const outputs = new Map(app.jobs.planOf(row).outputs.map((output) => [output.name, output]))
  return [...changed].map((output_name) => ({
    output_name,
    value: valueSoFar(outputs.get(output_name), values.get(output_name)!),
  }))
}

function valueSoFar(output: PlanOutput | undefined, items: readonly unknown[]): unknown {
  if (!output?.stream) return items.at(-1)
  return output.type.type === 'str' ? items.join('') : items
}
