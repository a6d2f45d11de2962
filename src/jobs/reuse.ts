// What a retry takes over of the firings of the job before it. What had finished is known by its place in the streams around it, so that
// nothing is taken over from behind a stream that begins again: its items may be others. What must not run twice forbids such a retry.
import type { NodeType } from '../engine/node-type.ts'
import type { Plan } from '../engine/plan.ts'
import { ServiceError } from '../errors.ts'
import { forEachStep, type Steps } from '../time-slices.ts'
import { callOf, type FiringName, readFiring } from './firing-names.ts'
import type { KnownFiring, Reuse } from './memory.ts'
import { Reach } from './reach.ts'

/** A workflow that the job has called. */
export interface CalledGraph {
  /** The plan of the graph that was called; null where this version cannot run it. */
  readonly plan: Plan | null
  /** Whether calling it again is to call the same. */
  readonly same: boolean
}

/** Besides what is taken over of a firing: it runs `again` though it may have finished; or it is `idle`, as nothing calls its workflow. */
type Fate = Exclude<Reuse, 'nothing'> | 'again' | 'idle'
type Fates = (name: FiringName) => Fate

/** A firing of which something is known. */
interface Firing {
  readonly name: FiringName
  readonly known: KnownFiring
}

/**
 * Says what of each firing is taken over. `plan`: that of the job's own graph.
 * @throws CONFLICT where a firing that had ended would run again, and must not run twice
 */
export function* reuseSteps(
  known: ReadonlyMap<string, KnownFiring>,
  plan: Plan,
  called: readonly CalledGraph[],
): Steps<(firing: string) => Reuse> {
  const firings: Firing[] = []
  yield* forEachStep(known, ([firing, one]) => void firings.push({ name: readFiring(firing), known: one }))
  const byScope = new Map<string, Firing[]>()
  yield* forEachStep(firings, (one) => {
    const some = byScope.get(one.name.scope)
    if (some) some.push(one)
    else byScope.set(one.name.scope, [one])
  })
  const runs = new Runs(known, byScope, yield* fatesSteps(byScope.get(OWN) ?? [], plan), called)
  const reuse = new Map<string, Reuse>()
  yield* forEachStep(firings, ({ name, known }) => {
    const fate = runs.fateOf(name)
    if (fate === 'again' && known.started && known.end) throw inTheWay(name)
    reuse.set(name.firing, reuseBy(fate, known))
  })
  return (firing) => reuse.get(firing) ?? 'nothing'
}

function reuseBy(fate: Fate, { attempts, items, steps, end, wait, answer }: KnownFiring): Reuse {
  if (fate === 'again' || fate === 'idle') return 'nothing'
  if (fate === 'all' && (end || (wait && answer))) return 'all'
  return items.length > 0 || steps.size > 0 || attempts ? 'begun' : 'nothing'
}

function inTheWay({ node_id, caller }: FiringName): ServiceError {
  const where = caller === null ? '' : ` of the workflow that node "${readFiring(caller).node_id}" calls`
  const why = 'has run and must not run twice, but what comes before it may come out differently now'
  return new ServiceError('CONFLICT', { message: `Node "${node_id}"${where} ${why}. The workflow can be run anew.` })
}

/** The scope of the job's own graph. */
const OWN = ''

/** The runs that a job consists of, by their scopes: that of its own graph, and those of the workflows called. */
class Runs {
  readonly #called: readonly CalledGraph[]
  readonly #known: ReadonlyMap<string, KnownFiring>
  readonly #byScope: ReadonlyMap<string, Firing[]>
  readonly #fates: Map<string, Fates>

  /** `own`: the fates in the job's own graph. */
  constructor(
    known: ReadonlyMap<string, KnownFiring>,
    byScope: ReadonlyMap<string, Firing[]>,
    own: Fates,
    called: readonly CalledGraph[],
  ) {
    this.#called = called
    this.#known = known
    this.#byScope = byScope
    this.#fates = new Map([[OWN, own]])
  }

  fateOf(name: FiringName): Fate {
    const fates = this.#fates.get(name.scope) ?? this.#fatesIn(name)
    this.#fates.set(name.scope, fates)
    return fates(name)
  }

  #fatesIn({ scope, caller }: FiringName): Fates {
    // Of the job's own graph they are known from the beginning.
    const fate = this.#fateCalled(this.#byScope.get(scope) ?? [], caller!, scope)
    return () => fate
  }

  /** All firings of a called workflow share one fate. Which workflow it is nobody knows: it may be any that has all of their nodes. */
  #fateCalled(firings: readonly Firing[], caller: string, scope: string): Fate {
    const fate = this.fateOf(readFiring(caller))
    if (fate === 'again' || fate === 'idle') return fate
    const known = this.#known.get(caller)
    if (fate === 'all' && known?.end) return 'idle'
    // Attempts that failed are not made again.
    if (known?.attempts && callOf(scope, caller) < known.attempts.calls) return 'idle'
    const graphs = this.#called.filter(
      ({ plan }) => !plan || firings.every(({ name }) => plan.indexById.has(name.node_id)),
    )
    const goesOn = ({ plan, same }: CalledGraph) => same && plan && !firings.some((one) => beginsAgain(one, plan))
    return graphs.length > 0 && graphs.every(goesOn) ? 'all' : 'again'
  }
}

/** In the job's own graph. Much may lie behind one firing, so that each is a step. */
function* fatesSteps(firings: readonly Firing[], plan: Plan): Steps<Fates> {
  const fates = new Map<string, Fate>()
  const reach = new Reach(plan)
  const begin = ({ name, known }: Firing): void => {
    fates.set(name.firing, 'again')
    if (known.items.length > 0) reach.add(name)
  }
  const again = yield* chosenSteps(firings, (one) => beginsAgain(one, plan))
  yield* forEachStep(again, begin, 1)
  if (fates.size === 0) return () => 'all'
  // What nobody wanted any more may be wanted now, where something behind it comes out differently.
  let unwanted = yield* chosenSteps(firings, ({ known }) => known.end !== null && 'unwanted' in known.end)
  for (let before = -1; before !== unwanted.length; ) {
    before = unwanted.length
    const met = yield* chosenSteps(unwanted, ({ name }) => reach.meets(name), 1)
    const wanted = (one: Firing) => (repeats(one, plan) ? void fates.set(one.name.firing, 'begun') : begin(one))
    yield* forEachStep(met, wanted, 1)
    unwanted = yield* chosenSteps(unwanted, ({ name }) => !fates.has(name.firing))
  }
  return (name) => (reach.has(name) ? 'again' : (fates.get(name.firing) ?? 'all'))
}

/** As `filter`, some firings to a step. */
function* chosenSteps(firings: readonly Firing[], isChosen: (one: Firing) => boolean, some?: number): Steps<Firing[]> {
  const chosen: Firing[] = []
  yield* forEachStep(firings, (one) => void (isChosen(one) && chosen.push(one)), some)
  return chosen
}

/** Whether its stream, some items of which had come, begins again and may be another one. */
function beginsAgain(firing: Firing, plan: Plan): boolean {
  const { items, end } = firing.known
  return end === null && items.length > 0 && !repeats(firing, plan)
}

/** Whether its stream goes on behind what it gave. */
function goesOn({ repeats, resumes }: NodeType): boolean {
  return repeats === true || resumes === true
}

/** Whether its stream is opened anew, and has to begin with the items that had come. */
function repeats({ name, known }: Firing, plan: Plan): boolean {
  const index = plan.indexById.get(name.node_id)
  return index !== undefined && goesOn(plan.nodes[index]!.type) && !known.started
}
