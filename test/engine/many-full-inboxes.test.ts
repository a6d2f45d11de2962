// Very many full inboxes are enlarged one after the other, without blocking other work.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { longestTurn } from '../helpers/loop.ts'
import { inMostRounds } from '../helpers/patience.ts'
import { mostMs } from '../helpers/processor.ts'
import { atRealSize } from '../helpers/scale.ts'
import { graph, node, sink, start, withTypes } from './kit.ts'

const READERS = 8_000
/** Milliseconds of processor time: far more than a slice. */
const MOST_AT_ONCE = 60

/** A stream that ends only when many other nodes have read all of it, each of which first needs what follows its end. */
function blocked() {
  const readers = Array.from({ length: READERS }, (_, at) => `r${at}`)
  return graph(
    [
      node('from', 'control.ForEach', { list: Array.from({ length: 6 }, (_, at) => at) }),
      node('all', 'control.Collect'),
      node('again', 'control.ForEach'),
      ...readers.map((id) => node(id, 'control.Chain')),
      node('count', 'control.Count'),
      sink('out'),
    ],
    [
      'from.item->all.item',
      'all.list->again.list',
      ...readers.flatMap((id) => [`again.item->${id}.a`, `from.item->${id}.b`]),
      'r0.item->count.item',
      'count.count->out.value',
    ],
  )
}

test('a stream that very many nodes block holds the event loop no longer than one that few block', {
  skip: atRealSize,
}, async () => {
  const of = blocked()
  await inMostRounds(async () => {
    const { execution } = start(of, withTypes(), { inboxLimit: 4 })
    const longest = await longestTurn(async () => {
      const outcome = await execution.done
      assert.deepEqual(outcome.status === 'completed' && outcome.outputs, { out: [12] })
    })
    assert.ok(longest < mostMs(longest, MOST_AT_ONCE), `${longest} ms in one turn`)
  })
})
