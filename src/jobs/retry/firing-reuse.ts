// What a retry takes over of the firings of the job before it. What had finished is known by its place in the streams around it, so that
// nothing is taken over from behind a stream that begins again: its items may be others. What must not run twice forbids such a retry.

import type { Plan } from '../../engine/compile/compiler.ts'
import type { NodeType } from '../../engine/node-api/node-type.ts'
import { ServiceError } from '../../errors.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import type { FiringReuse, JournaledFiring } from '../journal/job-journal.ts'
import { type FiringName, parseCallIndex, parseFiringName } from '../journal/run-journal.ts'
import { DownstreamFirings } from './downstream-firings.ts'

/** A workflow that the job has called. */
export interface CalledGraph {
  /** The plan of the graph that was called; null where this version cannot run it. */
  readonly plan: Plan | null
  /** Whether calling it again is to call the same. */
  readonly same: boolean
}

/** Besides what is taken over of a firing: it runs `again` though it may have finished; or it is `idle`, as nothing calls its workflow. */
type FiringFate = Exclude<FiringReuse, 'nothing'> | 'again' | 'idle'
type FateLookup = (name: FiringName) => FiringFate

/** A firing of which something is known. */
interface NamedFiring {
  readonly name: FiringName
  readonly known: JournaledFiring
}

/**
 * Says what of each firing is taken over. `plan`: that of the job's own graph.
 * @throws CONFLICT where a firing that had ended would run again, and must not run twice
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
  const why = 'has run and must not run twice, but what comes before it may come out differently now'
  return new ServiceError('CONFLICT', { message: `Node "${node_id}"${where} ${why}. The workflow can be run anew.` })
}

/** The scope of the job's own graph. */
const OWN_SCOPE = ''

/** The runs that a job consists of, by their scopes: that of its own graph, and those of the workflows called. */
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
    // Of the job's own graph they are known from the beginning.
    const fate = this.#decideCalledFate(this.#byScope.get(scope) ?? [], caller!, scope)
    return () => fate
  }

  /** All firings of a called workflow share one fate. Which workflow it is nobody knows: it may be any that has all of their nodes. */
  #decideCalledFate(firings: readonly NamedFiring[], caller: string, scope: string): FiringFate {
    const fate = this.fateOf(parseFiringName(caller))
    if (fate === 'again' || fate === 'idle') return fate
    const known = this.#known.get(caller)
    if (fate === 'all' && known?.end) return 'idle'
    // Attempts that failed are not made again.
    if (known?.attempts && parseCallIndex(scope, caller) < known.attempts.calls) return 'idle'
    const graphs = this.#called.filter(
      ({ plan }) => !plan || firings.every(({ name }) => plan.indexById.has(name.node_id)),
    )
    const goesOn = ({ plan, same }: CalledGraph) => same && plan && !firings.some((one) => isStreamRestarted(one, plan))
    return graphs.length > 0 && graphs.every(goesOn) ? 'all' : 'again'
  }
}

/** In the job's own graph. Much may lie behind one firing, so that each is a step. */
function* decideOwnFatesSteps(firings: readonly NamedFiring[], plan: Plan): Steps<FateLookup> {
  const fates = new Map<string, FiringFate>()
  const reach = new DownstreamFirings(plan)
  const begin = ({ name, known }: NamedFiring): void => {
    fates.set(name.firing, 'again')
    if (known.items.length > 0) reach.add(name)
  }
  const again = yield* filterSteps(firings, (one) => isStreamRestarted(one, plan))
  yield* forEachSteps(again, begin, 1)
  if (fates.size === 0) return () => 'all'
  // What nobody wanted any more may be wanted now, where something behind it comes out differently.
  let unwanted = yield* filterSteps(firings, ({ known }) => known.end !== null && 'unwanted' in known.end)
  for (let before = -1; before !== unwanted.length; ) {
    before = unwanted.length
    const met = yield* filterSteps(unwanted, ({ name }) => reach.mayOverlap(name), 1)
    const wanted = (one: NamedFiring) =>
      isStreamReplayed(one, plan) ? void fates.set(one.name.firing, 'begun') : begin(one)
    yield* forEachSteps(met, wanted, 1)
    unwanted = yield* filterSteps(unwanted, ({ name }) => !fates.has(name.firing))
  }
  return (name) => (reach.has(name) ? 'again' : (fates.get(name.firing) ?? 'all'))
}

/** As `filter`, some firings to a step. */
function* filterSteps(
  firings: readonly NamedFiring[],
  isChosen: (one: NamedFiring) => boolean,
  some?: number,
): Steps<NamedFiring[]> {
  const chosen: NamedFiring[] = []
  yield* forEachSteps(firings, (one) => void (isChosen(one) && chosen.push(one)), some)
  return chosen
}

/** Whether its stream, some items of which had come, begins again and may be another one. */
function isStreamRestarted(firing: NamedFiring, plan: Plan): boolean {
  const { items, end } = firing.known
  return end === null && items.length > 0 && !isStreamReplayed(firing, plan)
}

/** Whether its stream goes on behind what it gave. */
function isContinuable({ repeats, resumes }: NodeType): boolean {
  return repeats === true || resumes === true
}

/** Whether its stream is opened anew, and has to begin with the items that had come. */
function isStreamReplayed({ name, known }: NamedFiring, plan: Plan): boolean {
  const index = plan.indexById.get(name.node_id)
  return index !== undefined && isContinuable(plan.nodes[index]!.type) && !known.started
}
