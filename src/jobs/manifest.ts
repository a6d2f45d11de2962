// The result of a completed job: output values, assets, cost and provenance.
import type { PreflightSummary, ResultManifest } from '../../generated/types.ts'
import type { JobTable } from '../db/schema.ts'
import type { Plan } from '../engine/plan.ts'
import type { Publication } from './publication.ts'
import type { Estimate, Spending } from './spending.ts'

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
export function allOutputs(plan: Plan, values: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  const nothing = plan.outputs.filter(({ name }) => !Object.hasOwn(values, name)).map(({ name }) => [name, null])
  return nothing.length === 0 ? values : { ...values, ...Object.fromEntries(nothing) }
}

export interface ManifestParts {
  readonly row: JobTable
  readonly plan: Plan
  readonly publication: Publication
  /** The values of the outputs where they were put together before. */
  readonly outputs?: Readonly<Record<string, unknown>>
  /** The parameters as provenance shows them. */
  readonly inputs: Readonly<Record<string, unknown>>
  readonly spending: Spending
  /** RFC 3339. */
  readonly completed_at: string
}

export function buildManifest({
  row,
  plan,
  publication,
  outputs = outputValues(plan, publication.lists),
  inputs,
  spending,
  completed_at,
}: ManifestParts): ResultManifest {
  return {
    version: 1,
    job_id: row.id,
    completed_at,
    outputs,
    assets: publication.assets,
    cost: spending.cost(estimateOf(row)),
    provenance: {
      workflow_id: row.workflow_id,
      workflow_revision: row.workflow_etag,
      inputs,
      providers: spending.providers,
      models: spending.models,
      seed: row.seed,
    },
  } as ResultManifest
}

/** What the preflight that admitted the job had estimated; null where there was none, or it knew of no amount. */
function estimateOf({ preflight }: Pick<JobTable, 'preflight'>): Estimate | null {
  const cost = preflight === null ? null : (JSON.parse(preflight) as PreflightSummary).cost
  const { amount = null, currency = null } = cost ?? {}
  return amount === null || currency === null ? null : { amount, currency }
}
