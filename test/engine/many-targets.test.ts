// A stream whose first item goes to very many nodes blocks no other work while they are created.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { executePlan } from '../../src/engine/runtime/execution.ts'
import { silentObserver } from '../../src/engine/runtime/run/observer.ts'
import { longestTurn } from '../helpers/loop.ts'
import { inMostRounds } from '../helpers/patience.ts'
import { mostMs } from '../helpers/processor.ts'
import { atRealSize } from '../helpers/scale.ts'
import { graph, node, planOf } from './kit.ts'

const READERS = 50_000
/** Milliseconds of processor time: sending one item to all of them, and garbage collection. */
const MOST_AT_ONCE = 75

const readers = Array.from({ length: READERS }, (_, at) => `r${at}`)
const plan = planOf(
  graph(
    [node('numbers', 'control.Numbers', { to: 1 }), ...readers.map((id) => node(id, 'control.Chain'))],
    readers.flatMap((id) => [`numbers.item->${id}.a`, `numbers.index->${id}.b`]),
  ),
)

test('very many nodes that one stream feeds are created in time slices', { skip: atRealSize }, async () => {
  await inMostRounds(async () => {
    const options = { params: {}, signal: new AbortController().signal, observer: silentObserver }
    const longest = await longestTurn(async () => {
      assert.equal((await executePlan(plan, options).done).status, 'completed')
    })
    assert.ok(longest < mostMs(longest, MOST_AT_ONCE), `${longest} ms in one turn`)
  })
})
