// Streams that repeat unless they use the clock, in a run that has to wait.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Wait } from '../../src/engine/node-api/wait.ts'
import type { RunOutcome } from '../../src/engine/runtime/execution.ts'
import { graph, item, node, sink, testType } from './kit.ts'
import { MemoryJournal } from './memory-journal.ts'
import { answer, ask, remembered, waits } from './waiting.ts'

const of = graph(
  [node('n', 'test.Timely'), node('ask', 'test.Ask'), sink('out')],
  ['n.item->ask.value', 'ask.output->out.value'],
)

/** Yields so many items, each computed by `told` from the number of times the stream was opened. */
function timely(count: number, told: (opened: number) => number, given: (at: number) => void = () => {}) {
  const seen = { opened: 0 }
  const type = testType('test.Timely', {
    outputs: [item],
    repeats: true,
    isTimeDependent: true,
    async *run() {
      const opened = told(++seen.opened)
      for (let at = 0; at < count; at++) {
        given(at)
        yield { item: `${at}@${opened}` }
      }
    },
  })
  return { seen, type }
}

const REQUEST = { kind: 'value', name: 'late', message: null, schema: null, until: null } as const
const looking = (opened: number) => opened
const blind = () => 0

function answerAll(journal: MemoryJournal, outcome: RunOutcome): void {
  for (const name of waits(outcome)) answer(journal, outcome, name.slice(4))
}

describe('a time-dependent stream', () => {
  test('is fetched to its end before its run is suspended', async () => {
    const { seen, type } = timely(200, looking)
    const journal = new MemoryJournal()
    let outcome = await remembered(of, journal, [type]).execution.done
    assert.deepEqual([waits(outcome).length, journal.of('item').length, journal.of('end')], [64, 200, ['n@']])
    while (outcome.status === 'suspended') {
      answerAll(journal, outcome)
      outcome = await remembered(of, journal, [type]).execution.done
    }
    assert.equal(outcome.status, 'completed')
    assert.equal(seen.opened, 1)
  })

  test('that was cut continues if it gives the same items, else fails its run', async () => {
    for (const told of [blind, looking]) {
      const { seen, type } = timely(200, told)
      const journal = new MemoryJournal()
      await remembered(of, journal, [type]).execution.done
      const outcome = await remembered(of, journal.cut(20), [type]).execution.done
      if (told === blind) assert.equal(waits(outcome).length, 64)
      else assert.ok(outcome.status === 'failed' && outcome.error.type === 'node_interrupted')
      assert.equal(seen.opened, 2)
    }
  })

  test('that does not end lets its run wait, and fails it only if it differs afterwards', async () => {
    for (const told of [blind, looking]) {
      const { type } = timely(Number.POSITIVE_INFINITY, told)
      let asked = 0
      const journal = new MemoryJournal()
      const first = await remembered(of, journal, [type]).execution.done
      const items = journal.of('item').length
      assert.ok(items > 200 && items < 11_000, String(items))
      assert.deepEqual([waits(first).length, journal.of('end')], [64, []])
      answerAll(journal, first)
      // Fetched items are sent again, and then the stream is opened again.
      const patient = { ...ask, run: () => (asked++ < 20_000 ? { output: null } : new Wait(REQUEST)) }
      const outcome = await remembered(of, journal, [type, patient]).execution.done
      if (told === blind) assert.equal(waits(outcome).length, 64)
      else assert.ok(outcome.status === 'failed' && outcome.error.type === 'node_interrupted', outcome.status)
    }
  })

  test('is fetched for ten seconds at most', async (t) => {
    let passed = 0
    const now = performance.now.bind(performance)
    t.mock.method(performance, 'now', () => now() + passed)
    const { type } = timely(Number.POSITIVE_INFINITY, blind, (at) => {
      if (at >= 200) passed += 1000
    })
    const journal = new MemoryJournal()
    const outcome = await remembered(of, journal, [type]).execution.done
    assert.equal(waits(outcome).length, 64)
    const items = journal.of('item').length
    assert.ok(items >= 205 && items <= 211, String(items))
  })
})
