// Retries over random graphs, interrupted anywhere, with sources that may give other items: the result is that of a new run with the same inputs. Firings
// that must not run twice do not.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Plan } from '../../../src/engine/compile/compiler.ts'
import type { FiringHistory } from '../../../src/engine/durability/journal.ts'
import type { NodeRegistry, NodeType } from '../../../src/engine/node-api/node-type.ts'
import { executePlan, type RunOutcome } from '../../../src/engine/runtime/execution.ts'
import type { FiringReuse } from '../../../src/jobs/journal/stored-firing.ts'
import { decideReuseSteps } from '../../../src/jobs/retry/firing-reuse.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { planOf, Recorder, until } from '../../engine/kit.ts'
import { MemoryJournal, type Record } from '../../engine/memory-journal.ts'
import { Builder, type Recipe, recipes } from '../../engine/random-graphs.ts'
import { number } from '../../engine/random-kinds.ts'
import { MIXES } from '../../engine/random-mixes.ts'
import { Counts, calledGraph, REMEMBERED_MANNERS, rememberedRegistry } from '../../engine/random-remembered.ts'
import { Ledger } from '../../engine/random-types.ts'
import { holds, scale } from '../../engine/random-verdict.ts'
import { coded } from '../kit.ts'

const RUNS = 200
const MANNERS = [...REMEMBERED_MANNERS, 'fickle', 'fickle', 'fickle', 'unsafe', 'slow'] as const

/** A graph whose fickle nodes give other items where `changes` says so. */
class Patient {
  readonly counts = new Counts()
  readonly plan: Plan
  /** Whether a firing gives other items this time. */
  changes: (firing: string) => boolean = () => false
  readonly #ledger = new Ledger()
  readonly #registry: NodeRegistry
  readonly #called = new Map<string, Plan>()
  /** Whether the last run failed since it had to wait while a firing was open that may not run twice (law 60). */
  hadToWait = false
  #journal: MemoryJournal | null = null

  constructor(recipe: Recipe) {
    const known = rememberedRegistry(this.#ledger, this.counts, () => this.#journal)
    this.#registry = { ...known, get: (name) => this.#fickle(known.get(name)) }
    this.plan = planOf(new Builder(recipe).graph(), this.#registry)
  }

  get called(): Plan[] {
    return [...this.#called.values()]
  }

  #fickle(type: NodeType | undefined): NodeType | undefined {
    const run = type?.run
    if (!type || !run || !type.node_type.endsWith('.fickle')) return type
    return {
      ...type,
      run: (inputs, context) =>
        run(this.changes(this.#journal!.asked) ? { ...inputs, a: number(inputs.a) + 101 } : inputs, context),
    }
  }

  async #planOf(workflow_id: string): Promise<Plan> {
    const plan = this.#called.get(workflow_id) ?? planOf(calledGraph(workflow_id), this.#registry)
    this.#called.set(workflow_id, plan)
    return plan
  }

  /** Runs to the end, and answers all waits. It returns null where the run failed: it had to wait, or an unwanted firing failed. */
  async run(journal: MemoryJournal): Promise<RunOutcome | null> {
    this.#journal = journal
    this.hadToWait = false
    for (;;) {
      const options = { params: {}, signal: new AbortController().signal, observer: new Recorder(), seed: 5 }
      const loadPlan = (workflow_id: string) => this.#planOf(workflow_id)
      const outcome = await executePlan(this.plan, { ...options, journal: journal.open(), loadPlan }).done
      await until(() => this.#ledger.open === 0, 'firings that are still open')
      this.hadToWait = outcome.status === 'failed' && outcome.error.message.startsWith('The run has to wait, ')
      if (outcome.status !== 'suspended') return outcome.status === 'completed' ? outcome : null
      for (const { firing } of outcome.waiting) journal.answer(firing, 0)
    }
  }
}

/** Converts the name of a firing in the test journal to its name in a job. */
const named = (firing: string) => firing.replaceAll(/(^|\/)([^@/]*)@/g, '$1"$2"')

/** The entries of firings. Entries of the end of a run do not concern the next run. */
const firings = (journal: MemoryJournal) => journal.records.filter((record) => record[0] !== 'failure')

const UNKNOWN: FiringHistory = {
  started: false,
  attempts: null,
  items: [],
  steps: new Map(),
  end: null,
  wait: null,
  answer: null,
}

function knownOf(journal: MemoryJournal): Map<string, FiringHistory> {
  const known = new Map<string, FiringHistory>()
  for (const record of firings(journal)) {
    const firing = named(record[1])
    const one = known.get(firing) ?? UNKNOWN
    known.set(firing, { ...one, ...learnt(record, one) })
  }
  return known
}

function learnt(
  [kind, , value]: Exclude<Record, ['failure', ...unknown[]]>,
  { items }: FiringHistory,
): Partial<FiringHistory> {
  if (kind === 'start') return { started: true }
  if (kind === 'attempt') return { started: false, attempts: value }
  if (kind === 'item') return { items: [...items, value] }
  return kind === 'answer' ? { answer: { value } } : { [kind]: value }
}

/** The journal that a retry begins with. */
function taken(journal: MemoryJournal, reuse: (firing: string) => FiringReuse): MemoryJournal {
  const kinds: { [Taken in FiringReuse]: readonly string[] } = {
    all: ['start', 'item', 'end', 'wait', 'answer'],
    begun: ['item'],
    nothing: [],
  }
  const fresh = new MemoryJournal()
  for (const record of firings(journal)) if (kinds[reuse(named(record[1]))].includes(record[0])) fresh.keep(record)
  return fresh
}

/** Returns null where the retry is refused. */
function reuseIn(
  known: Map<string, FiringHistory>,
  { plan, called }: Patient,
): ((firing: string) => FiringReuse) | null {
  const graphs = called.map((one) => ({ plan: one, same: true }))
  try {
    return runToCompletion(decideReuseSteps(known, plan, graphs))
  } catch (error) {
    assert.ok(coded('CONFLICT')(error))
    return null
  }
}

async function comesOut(steps: readonly string[]): Promise<void> {
  const seen = { reused: 0, changed: 0, waiting: 0 }
  const place = fc.nat(1000).map((given) => ((given * 617) % 1001) / 1000)
  await holds(fc.tuple(recipes(steps, 24, MANNERS), place), RUNS, async ([recipe, place]) => {
    const patient = new Patient({ ...recipe, hold: true })
    const first = new MemoryJournal()
    if (!(await patient.run(first))) return
    const journal = first.cut(Math.round(place * first.size))
    const known = knownOf(journal)
    const reuse = reuseIn(known, patient)
    if (!reuse) return
    const finished = journal.of('start').filter((firing) => known.get(named(firing))!.end)
    const before = finished.map((firing) => patient.counts.of(firing))
    const changed = new Set<string>()
    patient.changes = (firing) => changed.add(firing).size > 0
    const again = await patient.run(taken(journal, reuse))
    const hadToWait = patient.hadToWait
    assert.deepEqual(
      finished.map((firing) => patient.counts.of(firing)),
      before,
    )
    patient.changes = (firing) => changed.has(firing)
    const fresh = await patient.run(new MemoryJournal())
    if (hadToWait !== patient.hadToWait) {
      // Only one of the two runs had an answer when a firing was open that may not run twice.
      assert.ok(recipe.steps.some(({ manner }) => manner === 'unsafe'))
      seen.waiting++
      return
    }
    assert.deepEqual(again, fresh)
    seen.reused += Number([...known.keys()].some((firing) => reuse(firing) === 'all'))
    seen.changed += Number(changed.size > 0)
  })
  assert.ok(seen.reused > 0.4 * RUNS * scale, `only ${seen.reused} retries took something over`)
  assert.ok(seen.waiting <= 0.05 * RUNS * scale, `${seen.waiting} had to wait where the other had not`)
  assert.ok(seen.changed > 0.2 * RUNS * scale, `only ${seen.changed} came out differently`)
}

describe('a retry gives the result of a new run with the same inputs, over graphs with', () => {
  test('streams, branches and aggregates', () => comesOut(MIXES.streams))

  test('stream operators', () => comesOut(MIXES.weaves))

  test('loops', () => comesOut(MIXES.loops))

  test('failures', () => comesOut(MIXES.failures))
})
