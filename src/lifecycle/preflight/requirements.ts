// What a run requires, merged: each thing once, blocking if any of its uses is.
import type { PreflightRequirement } from '../../../generated/types.ts'
import { compareTexts, sortSteps } from '../../shared/sorting.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { shortenId, shortenName } from './shortened-names.ts'

export type RunRequirement = PreflightRequirement
export type RequirementStatus = RunRequirement['status']

/** Of a thing that was looked at twice with two results, the worse one counts. */
const STATUS_SEVERITY: readonly RequirementStatus[] = ['available', 'downloading', 'unknown', 'unavailable', 'missing']
/** So many nodes that need a thing are named in its details. */
const MOST_NODES = 20
/** So many characters of requirements are told: they are kept with the job. */
const MOST_TOLD = 8_000_000
/** What each has besides its texts. */
const FRAME_CHARACTERS = 200

/** What is told, and what there was no room for. */
export interface ReportedRequirements {
  readonly requirements: RunRequirement[]
  readonly omitted_count: number
  /** Whether one of those that are not told is not met. */
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

  /** Sorted by kind and id, as texts are compared by their code units: the same in every locale. */
  sorted(): Steps<RunRequirement[]> {
    return sortSteps([...this.#all.values()], (a, b) => compareTexts(a.kind, b.kind) || compareTexts(a.id, b.id))
  }
}

/** As many as there is room for, in their order; those that are not met go before the others. */
export function* limitRequirementsSteps(all: readonly RunRequirement[], most = MOST_TOLD): Steps<ReportedRequirements> {
  const kept = new Set<RunRequirement>()
  let room = most
  for (const met of [false, true]) {
    yield* forEachSteps(all, (one) => {
      if (isRequirementMet(one) !== met) return
      // After the first one for which there is no room there is none for others.
      room -= requirementLength(one)
      if (room >= 0) kept.add(one)
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

/** Whether a run has everything that it cannot do without. */
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
