// The result of a completed job: output values, assets and provenance.
import type { ResultManifest } from '../../generated/types.ts'
import type { JobTable } from '../db/schema.ts'
import type { Plan } from '../engine/plan.ts'
import type { Publication } from './publication.ts'

/** Output values by name: a list where the output is a stream, else the value. One that got nothing is missing, which null is not. */
export function outputValues(plan: Plan, lists: Readonly<Record<string, unknown[]>>): Record<string, unknown> {
  return Object.fromEntries(
    plan.outputs.flatMap(({ name, stream }): [string, unknown][] => {
      const list = lists[name] ?? []
      if (stream) return [[name, list]]
      return list.length === 0 ? [] : [[name, list[0]]]
    }),
  )
}

/** The reverse of `outputValues`: always lists, as `job_update` frames carry them. */
export function outputLists(plan: Plan, values: Readonly<Record<string, unknown>>): Record<string, unknown[]> {
  return Object.fromEntries(
    plan.outputs.map(({ name, stream }) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined
      if (stream) return [name, Array.isArray(value) ? value : []]
      return [name, value === undefined ? [] : [value]]
    }),
  )
}

/** Every output of the plan, null where it got nothing, as a run answers them. */
export function allOutputs(plan: Plan, values: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const nothing = plan.outputs.filter(({ name }) => !Object.hasOwn(values, name)).map(({ name }) => [name, null])
  return { ...values, ...Object.fromEntries(nothing) }
}

/** `inputs` are the parameters as provenance shows them. */
export function buildManifest(
  row: JobTable,
  plan: Plan,
  publication: Publication,
  inputs: Readonly<Record<string, unknown>>,
  completed_at: string,
): ResultManifest {
  return {
    version: 1,
    job_id: row.id,
    completed_at,
    outputs: outputValues(plan, publication.lists),
    assets: publication.assets,
    cost: null,
    provenance: {
      workflow_id: row.workflow_id,
      workflow_revision: row.workflow_etag,
      inputs,
      providers: [],
      models: [],
      seed: row.seed,
    },
  } as ResultManifest
}
