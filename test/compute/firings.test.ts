// Runs whose firings run apart: their outcome is that of any other run, nothing of them is remembered, and a cancel ends them.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { isHeavy } from '../../src/engine/heavy.ts'
import type { ComputeAccess, ComputeTask } from '../../src/engine/services.ts'
import { noServices } from '../../src/engine/services.ts'
import { builtinNodes } from '../../src/nodes/registry.ts'
import { graph, node, outputs, run, sink, source, start, until } from '../engine/kit.ts'
import { MemoryJournal, type Record } from '../engine/memory-journal.ts'
import { compute, inputsOf, SLOW } from './kit.ts'

after(() => compute[Symbol.asyncDispose]())

/** The threads, and what was sent to them. */
function watched(): { services: typeof noServices; tasks: ComputeTask[] } {
  const tasks: ComputeTask[] = []
  const access: ComputeAccess = {
    takes: (type) => compute.takes(type),
    run(task) {
      tasks.push(task)
      return compute.run(task)
    },
  }
  return { services: { ...noServices, owner: 'ada', compute: access }, tasks }
}

const COUNT = 20_000
const text = Array.from({ length: COUNT }, (_, at) => `w${at % 1_000}`).join(' ')

/** Words, counted and sorted, and an error that is held. */
const counted = graph(
  [
    source('text', text),
    node('words', 'text.Words'),
    node('unique', 'list.Unique'),
    node('sorted', 'list.Sort'),
    node('bad', 'regex.FindAll', { pattern: '(' }),
    node('caught', 'control.Catch'),
    sink('list'),
    sink('error'),
  ],
  [
    'text.output->words.text',
    'words.output->unique.list',
    'unique.output->sorted.list',
    'sorted.output->list.value',
    'text.output->bad.text',
    'bad.output->caught.value',
    'caught.error->error.value',
  ],
)

describe('a run', () => {
  test('gives the same, whether its firings run apart or not', async () => {
    const { services, tasks } = watched()
    assert.deepStrictEqual(await outputs(counted, builtinNodes, { services }), await outputs(counted))
    const types = tasks.map(({ node_type }) => node_type).sort()
    assert.deepEqual(types, ['list.Unique', 'regex.FindAll', 'text.Words'])
  })

  test('remembers nothing of firings that run apart: they come out the same again', async () => {
    const { services, tasks } = watched()
    const memory = new MemoryJournal()
    const records: Record[] = []
    memory.onRecord = (record) => records.push(record)
    const journal = memory.open()
    await outputs(counted, builtinNodes, { services, journal })
    assert.ok(tasks.length > 0)
    assert.deepEqual(
      records.filter((record) => record[1].startsWith('words') || record[1].startsWith('unique')),
      [],
    )
  })

  test('is cancelled while a firing of it runs apart', async () => {
    const { services, tasks } = watched()
    const of = graph(
      [source('text', SLOW.text), node('match', 'regex.Match', { pattern: SLOW.pattern })],
      ['text.output->match.text'],
    )
    const { execution, abort } = start(of, builtinNodes, { services })
    await until(() => tasks.length > 0)
    const from = performance.now()
    abort.abort()
    assert.deepEqual(await execution.done, { status: 'cancelled' })
    assert.ok(performance.now() - from < 5_000)
  })

  test('fails with what the firing says', async () => {
    const { services, tasks } = watched()
    const of = graph(
      [source('text', SLOW.text.slice(0, 100_000)), node('match', 'regex.Match', { pattern: `${SLOW.pattern}(` })],
      ['text.output->match.text'],
    )
    assert.deepEqual(await run(of, builtinNodes, { services }), await run(of))
    assert.equal(tasks.length, 1)
  })
})

describe('the estimate of what a firing takes', () => {
  const heavy = (type: string, given: object) => isHeavy(builtinNodes.get(type)!, inputsOf(type, { ...given }))
  const letters = (count: number) => 'é'.repeat(count)
  const numbers = (count: number) => Array.from({ length: count }, (_, at) => at)

  test('tells what takes long', () => {
    assert.equal(heavy('regex.Match', { text: letters(300), pattern: '(\\p{L}{30}){30}x$' }), true)
    assert.equal(heavy('text.WordFrequency', { text: 'a b '.repeat(100_000) }), true)
    assert.equal(heavy('list.GroupBy', { list: numbers(50_000) }), true)
    assert.equal(heavy('text.Similarity', { a: letters(5_000), b: letters(5_000) }), true)
    assert.equal(heavy('text.Diff', { a: 'a\n'.repeat(2_000), b: 'b\n'.repeat(2_000) }), true)
    assert.equal(heavy('list.Calculate', { list: numbers(1_000), formula: Array(500).fill('x').join('+') }), true)
    assert.equal(heavy('date.Range', { from: '2000-01-01', to: '2040-01-01' }), true)
    assert.equal(
      heavy('data.Join', { left: numbers(1_000).map((k) => ({ k })), right: numbers(1_000).map((k) => ({ k })) }),
      true,
    )
  })

  test('leaves what is small where it is', () => {
    assert.equal(heavy('regex.Match', { text: letters(500), pattern: '^\\d{4}-\\d{2}-\\d{2}$' }), false)
    assert.equal(heavy('text.WordFrequency', { text: 'a b '.repeat(1_000) }), false)
    assert.equal(heavy('list.GroupBy', { list: numbers(1_000) }), false)
    assert.equal(heavy('list.Slice', { list: numbers(100_000) }), false)
    assert.equal(heavy('date.Range', { from: '2000-01-01', to: '2000-03-01' }), false)
    assert.equal(heavy('date.Range', { from: 'no date', to: '' }), false)
  })
})
