// What a run requires, merged: each thing once, blocking if any of its uses is.
import type { PreflightRequirement } from '../../generated/types.ts'
import { compared, sortedSteps } from '../sorting.ts'
import { forEachStep, type Steps } from '../time-slices.ts'
import { shortId, shortName } from './preflight-names.ts'

export type Requirement = PreflightRequirement
export type Status = Requirement['status']

/** Of a thing that was looked at twice with two results, the worse one counts. */
const WORSE: readonly Status[] = ['available', 'downloading', 'unknown', 'unavailable', 'missing']
/** So many nodes that need a thing are named in its details. */
const MOST_NODES = 20
/** So many characters of requirements are told: they are kept with the job. */
const MOST_TOLD = 8_000_000
/** What each has besides its texts. */
const FRAME = 200

/** What is told, and what there was no room for. */
export interface Told {
  readonly requirements: Requirement[]
  readonly left: number
  /** Whether one of those that are not told is not met. */
  readonly unmet: boolean
}

export class Requirements {
  readonly #all = new Map<string, Requirement>()

  add(given: Requirement): void {
    const requirement = { ...given, id: shortId(given.id), name: shortName(given.name) }
    const key = JSON.stringify([requirement.kind, requirement.id])
    const known = this.#all.get(key)
    this.#all.set(key, known ? merged(known, requirement) : requirement)
  }

  /** Sorted by kind and id, as texts are compared by their code units: the same in every locale. */
  sorted(): Steps<Requirement[]> {
    return sortedSteps([...this.#all.values()], (a, b) => compared(a.kind, b.kind) || compared(a.id, b.id))
  }
}

/** As many as there is room for, in their order; those that are not met go before the others. */
export function* told(all: readonly Requirement[], most = MOST_TOLD): Steps<Told> {
  const kept = new Set<Requirement>()
  let room = most
  for (const met of [false, true]) {
    yield* forEachStep(all, (one) => {
      if (isMet(one) !== met) return
      // After the first one for which there is no room there is none for others.
      room -= lengthOf(one)
      if (room >= 0) kept.add(one)
    })
  }
  const requirements: Requirement[] = []
  let unmet = false
  yield* forEachStep(all, (one) => {
    if (kept.has(one)) requirements.push(one)
    else if (!isMet(one)) unmet = true
  })
  return { requirements, left: all.length - requirements.length, unmet }
}

function lengthOf(requirement: Requirement): number {
  const { id, name, message } = requirement
  const nodes = nodesOf(requirement).reduce((sum, one) => sum + one.length, 0)
  return FRAME + id.length + name.length + (message?.length ?? 0) + nodes
}

/** Whether a run has everything that it cannot do without. */
export function isMet({ blocking, status }: Requirement): boolean {
  return !blocking || status === 'available'
}

function merged(one: Requirement, other: Requirement): Requirement {
  const worse = WORSE.indexOf(other.status) > WORSE.indexOf(one.status) ? other : one
  const node_ids = [...new Set([...nodesOf(one), ...nodesOf(other)])].sort(compared).slice(0, MOST_NODES)
  const details = { ...one.details, ...other.details, ...(node_ids.length > 0 ? { node_ids } : {}) }
  return {
    ...worse,
    blocking: one.blocking || other.blocking,
    ...(Object.keys(details).length > 0 ? { details } : {}),
  }
}

function nodesOf({ details }: Requirement): string[] {
  return (details?.node_ids as string[] | undefined) ?? []
}
