// Finds the firings downstream of a restarted stream, none of which is reused: by the graph, and by the positions of the firings.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { FiringHistory } from '../../../src/engine/durability/journal.ts'
import type { FiringReuse } from '../../../src/jobs/journal/stored-firing.ts'
import { decideReuseSteps } from '../../../src/jobs/retry/firing-reuse.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { control, graph, item, node, output, planOf, source, testType, value, withTypes } from '../../engine/kit.ts'
import { coded } from '../kit.ts'

async function* items() {
  yield {}
}
const stream = { properties: [value], outputs: [item], run: () => items() }
const registry = withTypes(
  testType('test.News', stream),
  testType('test.List', { ...stream, repeats: true }),
  testType('test.Work', { properties: [value], outputs: [output], run: () => ({}) }),
)

/** A stream of news for each document, and nodes that process the news. */
const nested = graph(
  [
    source('in', 'x'),
    node('docs', 'test.List'),
    node('beside', 'test.Work'),
    node('news', 'test.News'),
    node('each', 'test.Work'),
    node('take', 'control.Take', { count: 1 }),
    node('first', 'test.Work'),
    node('collect', 'control.Collect'),
    node('doc', 'test.Work'),
    node('whole', 'control.Collect'),
    node('end', 'test.Work'),
    node('after', 'test.Work', { value: 1 }),
  ],
  [
    'in.output->docs.value',
    'docs.item->beside.value',
    'docs.item->news.value',
    'news.item->each.value',
    'news.item->take.item',
    'take.item->first.value',
    'take.item->collect.item',
    'collect.list->doc.value',
    'collect.list->whole.item',
    'whole.list->end.value',
    control('doc', 'after'),
  ],
)

/** Two streams that are read together, and a second consumer of one of them. */
const woven = (second: string) =>
  graph(
    [
      source('in', 'x'),
      node('news', 'test.News'),
      node('second', second),
      node('zip', 'control.Zip'),
      node('pair', 'test.Work'),
      node('behind', 'test.Work'),
      node('other', second),
    ],
    [
      'in.output->news.value',
      'in.output->second.value',
      'in.output->other.value',
      'news.item->zip.a',
      'second.item->zip.b',
      'zip.a->pair.value',
      'second.item->behind.value',
    ],
  )

const NOTHING: FiringHistory = {
  started: false,
  attempts: null,
  items: [],
  steps: new Map(),
  end: null,
  wait: null,
  answer: null,
}
const cut: FiringHistory = { ...NOTHING, items: [{ item: 1 }] }
const done: FiringHistory = { ...NOTHING, end: { outputs: {} } }
const unwanted: FiringHistory = { ...cut, end: { unwanted: true } }
const answered: FiringHistory = {
  ...NOTHING,
  wait: { kind: 'approval', name: null, message: null, schema: null, until: null },
  answer: { value: true },
}

/** Tests name firings `node` or `node 1.0`. */
function reused(of: typeof nested, given: Record<string, FiringHistory>): Record<string, FiringReuse> {
  const named = (short: string) => short.replace(/^(\w+) ?/, '"$1"')
  const known = new Map(Object.entries(given).map(([short, one]) => [named(short), one]))
  const reuse = runToCompletion(decideReuseSteps(known, planOf(of, registry), []))
  return Object.fromEntries(Object.keys(given).map((short) => [short, reuse(named(short))]))
}

describe('a retry', () => {
  test('reuses no firing downstream of a restarted stream, and all others', () => {
    const taken = ['docs', 'beside 0', 'beside 1', 'news 0', 'each 0.0', 'first 0.0', 'doc 0', 'after 0']
    const left = ['each 1.0', 'first 1.0', 'doc 1', 'after 1', 'end']
    const ended = Object.fromEntries([...taken, ...left].map((short) => [short, done]))
    assert.deepEqual(reused(nested, { ...ended, 'news 1': cut }), {
      ...Object.fromEntries(taken.map((short) => [short, 'all'])),
      ...Object.fromEntries(left.map((short) => [short, 'nothing'])),
      'news 1': 'nothing',
    })
  })

  test('reuses all firings downstream of a continued stream, and its items', () => {
    assert.deepEqual(reused(nested, { docs: cut, 'beside 0': done, 'news 0': done, 'each 0.0': done }), {
      docs: 'begun',
      'beside 0': 'all',
      'news 0': 'all',
      'each 0.0': 'all',
    })
  })

  test('reuses an answer, unless it is downstream of a restarted stream', () => {
    const given = { 'news 1': cut, 'each 0.0': answered, 'each 1.0': answered, 'beside 1': answered }
    assert.deepEqual(reused(nested, given), {
      'news 1': 'nothing',
      'each 0.0': 'all',
      'each 1.0': 'nothing',
      'beside 1': 'all',
    })
  })

  test('does not reuse an unfinished firing that must not run twice', () => {
    const started = { ...cut, started: true }
    assert.deepEqual(reused(nested, { docs: started, 'beside 0': done }), { docs: 'nothing', 'beside 0': 'nothing' })
  })

  test('does not reuse a stream that was unwanted, where it may be wanted again', () => {
    const known = { second: unwanted, other: unwanted, 'behind 0': done, 'pair 0': done }
    const all = { second: 'all', other: 'all', 'behind 0': 'all', 'pair 0': 'all' }
    assert.deepEqual(reused(woven('test.News'), known), all)
    const begins = { ...all, 'pair 0': 'nothing', 'behind 0': 'nothing', second: 'nothing' }
    assert.deepEqual(reused(woven('test.News'), { ...known, news: cut }), { ...begins, news: 'nothing' })
    const goesOn = { ...all, 'pair 0': 'nothing', second: 'begun' }
    assert.deepEqual(reused(woven('test.List'), { ...known, news: cut }), { ...goesOn, news: 'nothing' })
  })

  test('is refused where a firing would run again that must not run twice', () => {
    const paid = { ...done, started: true }
    assert.equal(reused(nested, { 'news 1': cut, 'each 0.0': paid })['each 0.0'], 'all')
    for (const firing of ['each 1.0', 'doc 1', 'end']) {
      assert.throws(() => reused(nested, { 'news 1': cut, [firing]: paid }), coded('CONFLICT'))
    }
  })
})
