// RequirementSet merges the requirements of a run: each thing occurs once, and is blocking if any of its uses is.
import type { PreflightRequirement } from '../../../generated/types.ts'
import { compareTexts, sortSteps } from '../../shared/sorting.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { shortenId, shortenName } from './shortened-names.ts'

export type RunRequirement = PreflightRequirement
export type RequirementStatus = RunRequirement['status']

/** If a thing has two different results, the worse one counts. */
const STATUS_SEVERITY: readonly RequirementStatus[] = ['available', 'downloading', 'unknown', 'unavailable', 'missing']
/** Number of nodes that the details of a requirement name. */
const MOST_NODES = 20
/** Characters of requirements that are reported, because they are stored with the job. */
const MOST_TOLD = 8_000_000
/** Characters of each requirement besides its texts. */
const FRAME_CHARACTERS = 200

/** The reported requirements, and a summary of the others. */
export interface ReportedRequirements {
  readonly requirements: RunRequirement[]
  readonly omitted_count: number
  /** Whether one of the omitted requirements is unmet. */
  readonly has_unmet_omitted: boolean
}

export class RequirementSet {
  readonly #all = new Map<string, RunRequirement>()

  add(given: RunRequirement): void {
    const requirement = { ...given, id: shortenId(given.id), name: shortenName(given.name) }
    const key = JSON.stringify([requirement.kind, requirement.id])
    const known = this.#all.get(key)
    this.#all.set(key, known ? mergeRequirements(known, requirement) : requirement)
  }

  /** Sorts by kind and id. Texts are compared by code units, which gives the same order in every locale. */
  sorted(): Steps<RunRequirement[]> {
    return sortSteps([...this.#all.values()], (a, b) => compareTexts(a.kind, b.kind) || compareTexts(a.id, b.id))
  }
}

/** Selects as many requirements as fit, in their order; unmet ones take precedence. */
export function* limitRequirementsSteps(all: readonly RunRequirement[], most = MOST_TOLD): Steps<ReportedRequirements> {
  const kept = new Set<RunRequirement>()
  let remaining = most
  for (const met of [false, true]) {
    yield* forEachSteps(all, (one) => {
      if (isRequirementMet(one) !== met) return
      // After the first requirement that does not fit, none is added.
      remaining -= requirementLength(one)
      if (remaining >= 0) kept.add(one)
    })
  }
  const requirements: RunRequirement[] = []
  let unmet = false
  yield* forEachSteps(all, (one) => {
    if (kept.has(one)) requirements.push(one)
    else if (!isRequirementMet(one)) unmet = true
  })
  return { requirements, omitted_count: all.length - requirements.length, has_unmet_omitted: unmet }
}

function requirementLength(requirement: RunRequirement): number {
  const { id, name, message } = requirement
  const nodes = nodeIdsOf(requirement).reduce((sum, one) => sum + one.length, 0)
  return FRAME_CHARACTERS + id.length + name.length + (message?.length ?? 0) + nodes
}

/** Whether a requirement does not prevent the run. */
export function isRequirementMet({ blocking, status }: RunRequirement): boolean {
  return !blocking || status === 'available'
}

function mergeRequirements(one: RunRequirement, other: RunRequirement): RunRequirement {
  const worse = STATUS_SEVERITY.indexOf(other.status) > STATUS_SEVERITY.indexOf(one.status) ? other : one
  const node_ids = [...new Set([...nodeIdsOf(one), ...nodeIdsOf(other)])].sort(compareTexts).slice(0, MOST_NODES)
  const details = { ...one.details, ...other.details, ...(node_ids.length > 0 ? { node_ids } : {}) }
  return {
    ...worse,
    blocking: one.blocking || other.blocking,
    ...(Object.keys(details).length > 0 ? { details } : {}),
  }
}

function nodeIdsOf({ details }: RunRequirement): string[] {
  return (details?.node_ids as string[] | undefined) ?? []
}
