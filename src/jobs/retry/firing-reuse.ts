// Decides which firings a retry reuses from the job before it. A finished firing is known by its position in its streams, so nothing downstream of a
// restarted stream is reused: the items may be others. A retry is refused where it would rerun a firing that must not run twice.

import type { Plan } from '../../engine/compile/compiler.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { ServiceError } from '../../errors.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { type FiringName, parseCallIndex, parseFiringName } from '../journal/run-journal.ts'
import type { FiringReuse, JournaledFiring } from '../journal/stored-firing.ts'
import { DownstreamFirings } from './downstream-firings.ts'

/** A workflow that the job has called. */
export interface CalledGraph {
  /** The plan of the called graph; null where this version cannot run it. */
  readonly plan: Plan | null
  /** Whether the workflow still has the same graph. */
  readonly same: boolean
}

/** What becomes of a firing: reuse, or it runs `again` though it may have finished, or it is `idle` since no call reaches its workflow. */
type FiringFate = Exclude<FiringReuse, 'nothing'> | 'again' | 'idle'
type FateLookup = (name: FiringName) => FiringFate

interface NamedFiring {
  readonly name: FiringName
  readonly known: JournaledFiring
}

/**
 * Decides for each firing what a retry reuses. `plan` is that of the job's own graph.
 * @throws CONFLICT where a finished firing would run again, and must not run twice
 */
export function* decideReuseSteps(
  known: ReadonlyMap<string, JournaledFiring>,
  plan: Plan,
  called: readonly CalledGraph[],
): Steps<(firing: string) => FiringReuse> {
  const firings: NamedFiring[] = []
  yield* forEachSteps(known, ([firing, one]) => void firings.push({ name: parseFiringName(firing), known: one }))
  const byScope = new Map<string, NamedFiring[]>()
  yield* forEachSteps(firings, (one) => {
    const some = byScope.get(one.name.scope)
    if (some) some.push(one)
    else byScope.set(one.name.scope, [one])
  })
  const runs = new RunFates(known, byScope, yield* decideOwnFatesSteps(byScope.get(OWN_SCOPE) ?? [], plan), called)
  const reuse = new Map<string, FiringReuse>()
  yield* forEachSteps(firings, ({ name, known }) => {
    const fate = runs.fateOf(name)
    if (fate === 'again' && known.started && known.end) throw createReuseConflict(name)
    reuse.set(name.firing, toFiringReuse(fate, known))
  })
  return (firing) => reuse.get(firing) ?? 'nothing'
}

function toFiringReuse(fate: FiringFate, { attempts, items, steps, end, wait, answer }: JournaledFiring): FiringReuse {
  if (fate === 'again' || fate === 'idle') return 'nothing'
  if (fate === 'all' && (end || (wait && answer))) return 'all'
  return items.length > 0 || steps.size > 0 || attempts ? 'begun' : 'nothing'
}

function createReuseConflict({ node_id, caller }: FiringName): ServiceError {
  const where = caller === null ? '' : ` of the workflow that node "${parseFiringName(caller).node_id}" calls`
  const why = 'has run and must not run twice, but the nodes before it may give other values now'
  return new ServiceError('CONFLICT', { message: `Node "${node_id}"${where} ${why}. The workflow can be run anew.` })
}

/** The scope of the job's own graph. */
const OWN_SCOPE = ''

/** The fates of firings by scope: the scope of the job's own graph, and one for each called workflow. */
class RunFates {
  readonly #called: readonly CalledGraph[]
  readonly #known: ReadonlyMap<string, JournaledFiring>
  readonly #byScope: ReadonlyMap<string, NamedFiring[]>
  readonly #fates: Map<string, FateLookup>

  /** `own`: the fates in the job's own graph. */
  constructor(
    known: ReadonlyMap<string, JournaledFiring>,
    byScope: ReadonlyMap<string, NamedFiring[]>,
    own: FateLookup,
    called: readonly CalledGraph[],
  ) {
    this.#called = called
    this.#known = known
    this.#byScope = byScope
    this.#fates = new Map([[OWN_SCOPE, own]])
  }

  fateOf(name: FiringName): FiringFate {
    const fates = this.#fates.get(name.scope) ?? this.#decideFates(name)
    this.#fates.set(name.scope, fates)
    return fates(name)
  }

  #decideFates({ scope, caller }: FiringName): FateLookup {
    // The fates of the job's own graph are known from the start, so the caller is not null.
    const fate = this.#decideCalledFate(this.#byScope.get(scope) ?? [], caller!, scope)
    return () => fate
  }

  /** All firings of a called workflow share one fate. The journal does not say which workflow was called: any that has all of their nodes is possible. */
  #decideCalledFate(firings: readonly NamedFiring[], caller: string, scope: string): FiringFate {
    const fate = this.fateOf(parseFiringName(caller))
    if (fate === 'again' || fate === 'idle') return fate
    const known = this.#known.get(caller)
    if (fate === 'all' && known?.end) return 'idle'
    // Calls of failed attempts are not repeated.
    if (known?.attempts && parseCallIndex(scope, caller) < known.attempts.calls) return 'idle'
    const graphs = this.#called.filter(
      ({ plan }) => !plan || firings.every(({ name }) => plan.indexById.has(name.node_id)),
    )
    const goesOn = ({ plan, same }: CalledGraph) => same && plan && !firings.some((one) => isStreamRestarted(one, plan))
    return graphs.length > 0 && graphs.every(goesOn) ? 'all' : 'again'
  }
}

/** The fates in the job's own graph. Much may be downstream of one firing, so each firing is a step of its own. */
function* decideOwnFatesSteps(firings: readonly NamedFiring[], plan: Plan): Steps<FateLookup> {
  const fates = new Map<string, FiringFate>()
  const downstream = new DownstreamFirings(plan)
  const begin = ({ name, known }: NamedFiring): void => {
    fates.set(name.firing, 'again')
    if (known.items.length > 0) downstream.add(name)
  }
  const again = yield* filterSteps(firings, (one) => isStreamRestarted(one, plan))
  yield* forEachSteps(again, begin, 1)
  if (fates.size === 0) return () => 'all'
  // A firing that was not wanted any more may be wanted now, where a downstream firing comes out differently.
  let unwanted = yield* filterSteps(firings, ({ known }) => known.end !== null && 'unwanted' in known.end)
  for (let before = -1; before !== unwanted.length; ) {
    before = unwanted.length
    const met = yield* filterSteps(unwanted, ({ name }) => downstream.mayOverlap(name), 1)
    const wanted = (one: NamedFiring) =>
      isStreamReplayed(one, plan) ? void fates.set(one.name.firing, 'begun') : begin(one)
    yield* forEachSteps(met, wanted, 1)
    unwanted = yield* filterSteps(unwanted, ({ name }) => !fates.has(name.firing))
  }
  return (name) => (downstream.has(name) ? 'again' : (fates.get(name.firing) ?? 'all'))
}

/** `filter` in steps of `some` firings. */
function* filterSteps(
  firings: readonly NamedFiring[],
  isChosen: (one: NamedFiring) => boolean,
  some?: number,
): Steps<NamedFiring[]> {
  const chosen: NamedFiring[] = []
  yield* forEachSteps(firings, (one) => void (isChosen(one) && chosen.push(one)), some)
  return chosen
}

/** Whether a stream that had given items begins again, and may give other items. */
function isStreamRestarted(firing: NamedFiring, plan: Plan): boolean {
  const { items, end } = firing.known
  return end === null && items.length > 0 && !isStreamReplayed(firing, plan)
}

/** Whether a stream of this type continues after the items that it gave. */
function isContinuable({ repeats, resumes }: NodeType): boolean {
  return repeats === true || resumes === true
}

/** Whether the stream is opened again, and must begin with the items that it gave. */
function isStreamReplayed({ name, known }: NamedFiring, plan: Plan): boolean {
  const index = plan.indexById.get(name.node_id)
  return index !== undefined && isContinuable(plan.nodes[index]!.type) && !known.started
}
