// A retry decides about the reuse of very many firings in short steps.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Plan } from '../../src/engine/compile/compiler.ts'
import type { JournaledFiring } from '../../src/jobs/journal/stored-firing.ts'
import { decideReuseSteps } from '../../src/jobs/retry/firing-reuse.ts'
import { graph, item, node, output, planOf, sink, source, testType, value, withTypes } from '../engine/kit.ts'

const COUNT = 4_000
/** Milliseconds of CPU time, with garbage collection. Searching the firings one by one would take five seconds. */
const LONGEST_STEP = 300

const known = (of: Partial<JournaledFiring>): JournaledFiring => ({
  started: false,
  attempts: null,
  items: [{ item: 1 }],
  steps: new Map(),
  end: null,
  wait: null,
  answer: null,
  ...of,
})

/** A stream `news` that was cut, and two unwanted streams for each item of a list, `a` and `b`. The first of them overlaps with the repeated stream. */
function planned(): Plan {
  const run = () => ({})
  const stream = testType('test.Stream', { properties: [value], outputs: [item], run })
  const both = testType('test.Both', { properties: [value, { ...value, name: 'other' }], outputs: [output], run })
  const first = ['control.Take', { count: 1 }] as const
  const of = graph(
    [
      source('in', 'x'),
      node('list', 'test.Stream'),
      node('news', 'test.Stream'),
      node('all', 'control.Collect'),
      ...['a', 'b'].flatMap((id) => [
        node(id, 'test.Stream'),
        node(`${id} first`, ...first),
        node(`${id} last`, 'control.Last'),
      ]),
      node('z', 'test.Both'),
      node('w', 'test.Both'),
      sink('out'),
    ],
    [
      'in.output->list.value',
      'in.output->news.value',
      'news.item->all.item',
      ...['a', 'b'].flatMap((id) => [
        `list.item->${id}.value`,
        `${id}.item->${id} first.item`,
        `${id} first.item->${id} last.item`,
      ]),
      'all.list->z.value',
      'a last.item->z.other',
      'a last.item->w.value',
      'b last.item->w.other',
      'w.output->out.value',
    ],
  )
  return planOf(of, withTypes(stream, both))
}

test('each step is short, however many firings overlap with repeated firings', () => {
  const firings = new Map([['"news"', known({})]])
  for (let at = 0; at < COUNT; at++)
    for (const id of ['a', 'b']) firings.set(`"${id}"${at}`, known({ end: { unwanted: true } }))
  const steps = decideReuseSteps(firings, planned(), [])
  let longest = 0
  for (;;) {
    const before = process.cpuUsage()
    const step = steps.next()
    const { user, system } = process.cpuUsage(before)
    longest = Math.max(longest, (user + system) / 1_000)
    if (!step.done) continue
    assert.deepEqual([step.value('"news"'), step.value('"a"7'), step.value('"b"7')], ['nothing', 'nothing', 'nothing'])
    break
  }
  assert.ok(longest < LONGEST_STEP, `a step of ${longest} ms`)
})
