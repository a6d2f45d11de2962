// Runs a random graph and checks the run against the reference evaluator: outcome, outputs, firings, statuses, warnings.
import assert from 'node:assert/strict'
import { randomInt } from 'node:crypto'
import fc from 'fast-check'
import type { Plan } from '../../src/engine/compile/compiler.ts'
import {
  type ExecuteOptions,
  type Execution,
  executePlan,
  type RunOutcome,
} from '../../src/engine/runtime/execution.ts'
import { planOf, Recorder, until } from './kit.ts'
import type { Builder } from './random-graphs.ts'
import { Ledger, registryFor } from './random-types.ts'
import { Evaluator, type Reference } from './reference.ts'
import type { Shape } from './reference-shape.ts'
import { Watch } from './watch.ts'

export const limits = fc.record({
  concurrency: fc.integer({ min: 1, max: 9 }),
  inboxLimit: fc.constantFrom(1, 2, 3, 64),
})

export interface Trial {
  builder: Builder
  ledger: Ledger
  observer: Recorder
  plan: Plan
  execution: Execution
  abort: AbortController
}

/** Starts a run of a random graph, once it is prepared. */
export function tried(
  builder: Builder,
  options: Partial<ExecuteOptions>,
  prepare: (trial: Omit<Trial, 'plan' | 'execution'>) => void = () => {},
): Trial {
  const [ledger, observer, abort] = [new Ledger(), new Recorder(), new AbortController()]
  prepare({ builder, ledger, observer, abort })
  const plan = planOf(builder.graph(), registryFor(ledger))
  const execution = executePlan(plan, { params: {}, signal: abort.signal, observer, random: () => 0.5, ...options })
  return { builder, ledger, observer, plan, execution, abort }
}

export interface Expected {
  reference: Reference
  shape: Shape
  /** Nodes of which one certainly fails the run; empty if the run may complete. */
  failing: string[]
  /** Nodes of which an unwanted firing might fail the run. */
  doubtful: string[]
}

export function expectedOf(builder: Builder): Expected {
  const evaluator = new Evaluator(builder.nodes, builder.edges)
  const reference = evaluator.evaluate()
  const { shape } = evaluator
  const failing = builder.nodes.filter(({ id }) => reference.certain[id]!.unheld > 0).map(({ id }) => id)
  const doubtful = builder.nodes.filter(({ id, type }) => {
    if (shape.wanted(id) || shape.holds(id)) return false
    const most = reference.most[id]
    return most ? most.unheld > 0 : type.fails === true
  })
  return { reference, shape, failing, doubtful: doubtful.map(({ id }) => id) }
}

/** Checks a settled run; returns how it should have ended. */
export async function judge(trial: Trial, outcome: RunOutcome, expected: Expected): Promise<'completed' | 'failed'> {
  const { failing, doubtful, reference } = expected
  if (outcome.status === 'completed') assert.equal(trial.ledger.open, 0, 'a generator is still open')
  await until(() => trial.ledger.open === 0, 'firings that are still open')
  if (outcome.status === 'failed') {
    const { node_id, type } = outcome.error
    assert.ok([...failing, ...doubtful].includes(node_id), `failed at ${node_id}: ${outcome.error.message}`)
    assert.ok(['odd', 'too_many'].includes(type), type)
    assert.deepEqual(trial.observer.statuses(node_id), ['running', 'error'])
    return 'failed'
  }
  assert.deepEqual([outcome.status, failing], ['completed', []])
  assert.deepEqual(outcome, { status: 'completed', outputs: reference.outputs })
  for (const { id } of trial.builder.nodes) judgeNode(id, trial, expected)
  judgeEdges(trial)
  return 'completed'
}

/** Each edge is reported as completed once, with no later report. */
function judgeEdges({ builder, observer }: Trial): void {
  const last = new Map<unknown, unknown>()
  for (const [, id, status] of observer.named('edge')) {
    assert.notEqual(last.get(id), 'completed', `${id} is told of after its end`)
    last.set(id, status)
  }
  assert.deepEqual(
    [...last.values()],
    builder.edges.map(() => 'completed'),
  )
}

function judgeNode(id: string, { builder, ledger, observer }: Trial, { reference, shape }: Expected): void {
  const { kind } = builder.nodes.find((node) => node.id === id)!
  const certain = reference.certain[id]!
  const most = reference.most[id]
  const own = !/^(control|output)\./.test(kind)
  const fired = own ? ledger.count(id) : certain.fired
  if (own) {
    assert.ok(fired >= certain.fired, `${id} fired ${fired} times, not ${certain.fired}`)
    const bound = most ? most.fired + most.interrupted : Number.POSITIVE_INFINITY
    assert.ok(fired <= bound, `${id} fired ${fired} times, at most ${bound} paths`)
  }
  const warnings = observer.named('log').filter((call) => call[1] === id && call[2] === 'warning').length
  assert.ok(warnings >= certain.held && (!most || warnings <= most.held), `${id} warned ${warnings} times`)
  const statuses = observer.statuses(id).join()
  const fit = certain.held > 0 ? ['running,error'] : fired > 0 ? ['running,completed'] : ['skipped']
  if (!shape.wanted(id) && fired > 0 && most?.held !== 0) fit.push('running,error', 'running,completed')
  // The built-in nodes do not count their firings: an unwanted one may have been interrupted.
  const unseen = !own && (certain.interrupted > 0 || !most || most.fired + most.interrupted > certain.fired)
  if (unseen) fit.push('running,completed')
  assert.ok(fit.includes(statuses), `${id} went ${statuses}, not ${fit.join(' or ')}`)
}

const { SVC_TEST_SCALE = '1', SVC_TEST_SEED } = process.env

export const scale = Number(SVC_TEST_SCALE)

/** How long a counterexample is shrunk, in milliseconds: one that waits in vain would take hours. */
const SHRINK_MS = 120_000

/** Checks a property of `runs` random cases at scale 1; a failure prints its seed, which SVC_TEST_SEED sets. */
export async function holds<Case>(
  cases: fc.Arbitrary<Case>,
  runs: number,
  property: (one: Case) => Promise<void>,
): Promise<void> {
  const seed = SVC_TEST_SEED === undefined ? randomInt(2 ** 31) : Number(SVC_TEST_SEED)
  const watch = new Watch(seed)
  let tried = 0
  let failed: number | null = null
  const checked = async (one: Case) => {
    // Smaller cases that are no longer tried count as passed, so that the smallest failed case is reported.
    if (failed !== null && performance.now() > failed + SHRINK_MS) return
    watch.begin(tried++)
    try {
      await property(one)
    } catch (error) {
      failed ??= performance.now()
      throw error
    } finally {
      watch.end()
    }
  }
  await fc.assert(fc.asyncProperty(cases, checked), { numRuns: Math.ceil(runs * scale), seed })
}
