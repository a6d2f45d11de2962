// Interruptions at any moment, over random graphs: a run that continues from any prefix of its records has the outcome of an uninterrupted
// one. Firings that had ended, or must not run twice, do not run again.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { Plan } from '../../src/engine/compile/compiler.ts'
import type { NodeRegistry } from '../../src/engine/node-api/node-type.ts'
import { executePlan, type RunOutcome } from '../../src/engine/runtime/execution.ts'
import { planOf, Recorder, until } from './kit.ts'
import { MemoryJournal } from './memory-journal.ts'
import { Builder, type Recipe, recipes } from './random-graphs.ts'
import { MIXES } from './random-mixes.ts'
import { Counts, calledGraph, REMEMBERED_MANNERS, rememberedRegistry } from './random-remembered.ts'
import { Ledger } from './random-types.ts'
import { holds, limits, scale } from './random-verdict.ts'
import { Evaluator } from './reference.ts'

const RUNS = 300

/** More of the manners that are recorded. */
const MANNERS = [...REMEMBERED_MANNERS, 'unsafe', 'unsafe', 'fickle', 'slow', 'calling'] as const

interface Limits {
  concurrency: number
  inboxLimit: number
}

/** A graph whose runs may be interrupted. */
class Patient {
  readonly builder: Builder
  readonly #limits: Limits
  counts = new Counts()
  ledger = new Ledger()
  journal: MemoryJournal | null = null
  readonly plan: Plan
  readonly #called = new Map<string, Plan>()
  readonly #registry: NodeRegistry

  constructor(recipe: Recipe, limit: Limits) {
    this.builder = new Builder(recipe)
    this.#limits = limit
    this.#registry = rememberedRegistry(this.ledger, this.counts, () => this.journal)
    this.plan = planOf(this.builder.graph(), this.#registry)
  }

  kindOf(node_id: string): string {
    return this.builder.nodes.find(({ id }) => id === node_id)!.kind
  }

  async #planOf(workflow_id: string): Promise<Plan> {
    const plan = this.#called.get(workflow_id) ?? planOf(calledGraph(workflow_id), this.#registry)
    this.#called.set(workflow_id, plan)
    return plan
  }

  /** Runs and answers all waits: some at once while the run lives, the others once it is suspended. */
  async run(journal: MemoryJournal): Promise<RunOutcome> {
    this.journal = journal
    for (let rounds = 0; ; rounds++) {
      assert.ok(rounds < 2000, 'the run is suspended over and over')
      const observer = new Recorder()
      const signal = new AbortController().signal
      const loadPlan = (workflow_id: string) => this.#planOf(workflow_id)
      const options = { params: {}, signal, observer, journal: journal.open(), seed: 5, loadPlan, ...this.#limits }
      const outcome = await executePlan(this.plan, options).done
      await until(() => this.ledger.open === 0, 'firings that are still open')
      assert.deepEqual(observer.faults, [])
      if (outcome.status !== 'suspended') return outcome
      assert.ok(outcome.waiting.length > 0)
      for (const { firing } of outcome.waiting.filter(
        (_, at) => at % 2 === rounds % 2 || outcome.waiting.length === 1,
      )) {
        journal.answer(firing, 0)
      }
    }
  }
}

/** Firings that must not run again, and nodes that may fail the run because they cannot. */
function bounds(journal: MemoryJournal, fickle: (node_id: string) => boolean) {
  const [ended, started, waiting] = [journal.of('end'), journal.of('start'), journal.of('wait')].map(
    (of) => new Set(of),
  )
  const gone = [...started!].filter((firing) => !ended!.has(firing) && !waiting!.has(firing))
  const nodeOf = (firing: string) => firing.slice(0, firing.indexOf('@'))
  const cut = journal
    .of('item')
    .filter((firing) => !ended!.has(firing) && (fickle(nodeOf(firing)) || started!.has(firing)))
  return { never: [...ended!, ...started!, ...waiting!], doomed: new Set([...gone, ...cut].map(nodeOf)) }
}

/** Whether a run failed because it had to wait while a firing could not resume. */
function refused(patient: Patient, outcome: RunOutcome): boolean {
  if (outcome.status !== 'failed' || !outcome.error.message.includes('must wait')) return false
  assert.equal(outcome.error.type, 'node_interrupted')
  assert.match(patient.kindOf(outcome.error.node_id), /^((Collect|Spoil)\.unsafe|Endless\.(unsafe|fickle))$/)
  return true
}

/** Whether a run failed at an unwanted firing: law 0 leaves that to timing. */
function unlucky(patient: Patient, outcome: RunOutcome): boolean {
  if (outcome.status !== 'failed' || outcome.error.type === 'node_interrupted') return false
  const { shape } = new Evaluator(patient.builder.nodes, patient.builder.edges)
  assert.ok(!shape.wanted(outcome.error.node_id), JSON.stringify(outcome))
  return true
}

/** Continues from a prefix of the records and checks how. Returns the outcome of the run. */
async function recovered(patient: Patient, journal: MemoryJournal): Promise<RunOutcome> {
  const { never, doomed } = bounds(journal, (id) => patient.kindOf(id).endsWith('.fickle'))
  const before = new Map(never.map((firing) => [firing, patient.counts.of(firing)]))
  const outcome = await patient.run(journal)
  for (const [firing, count] of before) assert.equal(patient.counts.of(firing), count, `${firing} ran again`)
  if (outcome.status === 'failed' && !refused(patient, outcome) && !unlucky(patient, outcome)) {
    assert.equal(outcome.error.type, 'node_interrupted', JSON.stringify(outcome))
    assert.ok(doomed.has(outcome.error.node_id), outcome.error.message)
  }
  return outcome
}

async function survives(steps: readonly string[]): Promise<void> {
  const seen = { completed: 0, interrupted: 0, records: 0, suspended: 0 }
  // Scattered, so that small numbers, which are the most frequent, cut anywhere.
  const place = fc.nat(1000).map((given) => ((given * 617) % 1001) / 1000)
  const cuts = fc.array(place, { minLength: 1, maxLength: 4 })
  await holds(fc.tuple(recipes(steps, 24, MANNERS), limits, cuts), RUNS, async ([recipe, limit, places]) => {
    const patient = new Patient({ ...recipe, hold: true }, limit)
    let journal = new MemoryJournal()
    const outcome = await patient.run(journal)
    if (refused(patient, outcome) || unlucky(patient, outcome)) return
    assert.equal(outcome.status, 'completed', JSON.stringify(outcome))
    seen.records += journal.size
    seen.suspended += Number(journal.of('answer').length > 0)
    for (const place of [...places, 1]) {
      journal = journal.cut(Math.round(place * journal.size))
      const again = await recovered(patient, journal)
      if (again.status === 'failed') {
        seen.interrupted++
        return
      }
      assert.deepEqual(again, outcome)
    }
    seen.completed++
  })
  assert.ok(seen.completed > 0.3 * RUNS * scale, `only ${seen.completed} runs completed`)
  assert.ok(seen.interrupted > 0.02 * RUNS * scale, `only ${seen.interrupted} runs could not go on`)
  assert.ok(seen.suspended > 0.1 * RUNS * scale, `only ${seen.suspended} runs were suspended`)
  assert.ok(seen.records > RUNS * scale, `only ${seen.records} records`)
}

describe('a run that is interrupted has the same outcome', () => {
  test('streams, branches and aggregates', () => survives(MIXES.streams))

  test('stream operators', () => survives(MIXES.weaves))

  test('loops', () => survives(MIXES.loops))

  test('failures', () => survives(MIXES.failures))

  test('all kinds of nodes', () => survives(MIXES.all))
})
