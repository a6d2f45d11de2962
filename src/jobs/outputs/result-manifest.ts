// Builds the result of a completed job: output values, assets, cost and provenance.
import type { PreflightSummary, ResultManifest } from '../../../generated/types.ts'
import type { JobTable } from '../../db/tables/jobs.ts'
import type { Plan } from '../../engine/compile/compiler.ts'
import type { CostEstimate, JobModelUsage } from '../run/model-usage.ts'
import type { OutputPublication } from './publication.ts'

/** Output values by name: a list for a stream, else the value. An output without a value is missing, which differs from null. */
export function collectOutputValues(plan: Plan, lists: Readonly<Record<string, unknown[]>>): Record<string, unknown> {
  return Object.fromEntries(
    plan.outputs.flatMap(({ name, stream }): [string, unknown][] => {
      const list = lists[name] ?? []
      if (stream) return [[name, list]]
      return list.length === 0 ? [] : [[name, list[0]]]
    }),
  )
}

/** The reverse of `collectOutputValues`: always lists, as `job_update` frames have them. */
export function toOutputLists(plan: Plan, values: Readonly<Record<string, unknown>>): Record<string, unknown[]> {
  return Object.fromEntries(
    plan.outputs.map(({ name, stream }) => {
      const value = Object.hasOwn(values, name) ? values[name] : undefined
      if (stream) return [name, Array.isArray(value) ? value : []]
      return [name, value === undefined ? [] : [value]]
    }),
  )
}

/** Adds null for every output of the plan that has no value, as the response of a run shows it. */
export function withMissingOutputs(
  plan: Plan,
  values: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const nothing = plan.outputs.filter(({ name }) => !Object.hasOwn(values, name)).map(({ name }) => [name, null])
  return nothing.length === 0 ? values : { ...values, ...Object.fromEntries(nothing) }
}

export interface ResultManifestParts {
  readonly row: JobTable
  readonly publication: OutputPublication
  readonly outputs: Readonly<Record<string, unknown>>
  /** The parameters, described for the provenance. */
  readonly inputs: Readonly<Record<string, unknown>>
  readonly spending: JobModelUsage
  /** RFC 3339. */
  readonly completed_at: string
}

export function buildResultManifest({
  row,
  publication,
  outputs,
  inputs,
  spending,
  completed_at,
}: ResultManifestParts): ResultManifest {
  return {
    version: 1,
    job_id: row.id,
    completed_at,
    outputs,
    assets: publication.assets,
    cost: spending.cost(parseCostEstimate(row)),
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

/** The estimate of the preflight that admitted the job; null where there was no preflight, or it had no amount. */
function parseCostEstimate({ preflight }: Pick<JobTable, 'preflight'>): CostEstimate | null {
  const cost = preflight === null ? null : (JSON.parse(preflight) as PreflightSummary).cost
  const { amount = null, currency = null } = cost ?? {}
  return amount === null || currency === null ? null : { amount, currency }
}
