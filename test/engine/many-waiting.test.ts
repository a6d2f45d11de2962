// Very many waiting firings that are halted at the same moment block no other work.
// own-process: it collects garbage again and again, which takes long beside the modules of other tests.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { GraphNode } from '../../src/engine/compile/graph.ts'
import { executePlan } from '../../src/engine/runtime/execution.ts'
import { silentObserver } from '../../src/engine/runtime/run/observer.ts'
import { heldBytes } from '../helpers/heap.ts'
import { longestTurn } from '../helpers/loop.ts'
import { inMostRounds } from '../helpers/patience.ts'
import { mostMs } from '../helpers/processor.ts'
import { atRealSize } from '../helpers/scale.ts'
import { graph, node, planOf, someTurns } from './kit.ts'

const FIRINGS = 30_000
/** Milliseconds of processor time: far less than all of them take. */
const MOST_AT_ONCE = 100
const PAUSE_MS = 200_000

const inner = planOf(graph([node('wait', 'control.Delay', { value: 1, seconds: 60 })], []))

/** A run of very many such nodes, once all of them wait. */
async function waiting(of: (id: string) => GraphNode) {
  const abort = new AbortController()
  const plan = planOf(
    graph(
      Array.from({ length: FIRINGS }, (_, at) => of(`n${at}`)),
      [],
    ),
  )
  const options = { params: {}, signal: abort.signal, observer: silentObserver, loadPlan: async () => inner }
  const execution = executePlan(plan, options)
  await someTurns(2_000)
  // Garbage of the start must not count for the end.
  heldBytes()
  return { abort, execution }
}

function holdsLittle(longest: number): void {
  assert.ok(longest < mostMs(longest, MOST_AT_ONCE), `${longest} ms in one turn`)
}

const calling = (id: string) => node(id, 'workflow.Call', { workflow_id: 'inner' })
const failing = (id: string) => node(id, 'control.Fail', { retry: { attempts: 2, backoff_ms: PAUSE_MS } })

for (const [what, of] of [
  ['calls that wait for their places', calling],
  ['firings that are to be tried again', failing],
] as const)
  test(`a run of very many ${what} is cancelled in slices`, { skip: atRealSize }, async () => {
    await inMostRounds(async () => {
      const { abort, execution } = await waiting(of)
      const longest = await longestTurn(async () => {
        abort.abort()
        assert.equal((await execution.done).status, 'cancelled')
      })
      holdsLittle(longest)
    })
  })
