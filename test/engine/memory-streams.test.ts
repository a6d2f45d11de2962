// The record of streams, aggregates and unwanted firings, and how a run continues from it.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import type { RunOutcome } from '../../src/engine/runtime/execution.ts'
import { graph, item, node, output, sink, start, testType, until, value, withTypes } from './kit.ts'
import { MemoryJournal } from './memory-journal.ts'

const total = { name: 'total', type: value.type }
/** Yields `count` items one after the other, each computed by `of` from its number. */
function streaming(name: string, of: (at: number) => unknown, rest: Partial<NodeType> = {}, count = 4) {
  const seen = { opened: 0, given: 0 }
  const type = testType(name, {
    outputs: [item, total],
    ...rest,
    async *run() {
      seen.opened++
      for (let at = 0; at < count; at++) {
        await new Promise((go) => setImmediate(go))
        seen.given++
        yield { item: of(at) }
      }
      return { total: count }
    },
  })
  return { seen, type }
}

const streamed = (type: string): Graph =>
  graph([node('n', type), sink('out'), sink('total')], ['n.item->out.value', 'n.total->total.value'])

async function outcomeOf(of: Graph, types: NodeType[], journal: MemoryJournal): Promise<RunOutcome> {
  const { execution, observer } = start(of, withTypes(...types), { journal: journal.open(), seed: 1 })
  const outcome = await execution.done
  assert.deepEqual(observer.faults, [])
  return outcome
}

const all = { status: 'completed', outputs: { out: [0, 1, 2, 3], total: [4] } }

function interrupted(outcome: RunOutcome, message: RegExp): void {
  assert.ok(outcome.status === 'failed', JSON.stringify(outcome))
  assert.equal(outcome.error.type, 'node_interrupted')
  assert.match(outcome.error.message, message)
}

describe('a stream', () => {
  test('that had ended is replayed without running', async () => {
    const { seen, type } = streaming('test.It', (at) => at)
    const journal = new MemoryJournal()
    const told: unknown[] = []
    for (let runs = 0; runs < 2; runs++) {
      const { execution, observer } = start(streamed('test.It'), withTypes(type), { journal: journal.open() })
      assert.deepEqual(await execution.done, all)
      told.push(observer.calls.filter((call) => call[0] === 'node' && call[1] === 'n'))
    }
    assert.equal(seen.opened, 1)
    assert.deepEqual(told[1], told[0])
  })

  test('that was cut continues behind its known items if it repeats', async () => {
    for (const cut of [0, 1, 3, 4]) {
      const { type } = streaming('test.It', (at) => at, { repeats: true })
      const journal = new MemoryJournal()
      assert.deepEqual(await outcomeOf(streamed('test.It'), [type], journal), all)
      const rest = journal.cut(cut)
      assert.deepEqual(await outcomeOf(streamed('test.It'), [type], rest), all)
      assert.deepEqual(rest.records, journal.records)
    }
  })

  test('that gives other or fewer items the second time fails its run', async () => {
    let runs = 0
    const other = streaming('test.It', (at) => [at, runs], { repeats: true })
    const journal = new MemoryJournal()
    await outcomeOf(streamed('test.It'), [other.type], journal)
    runs++
    interrupted(await outcomeOf(streamed('test.It'), [other.type], journal.cut(2)), /half-way through its stream/)
    const fewer = streaming('test.It', (at) => [at, 0], { repeats: true }, 1)
    interrupted(await outcomeOf(streamed('test.It'), [fewer.type], journal.cut(2)), /half-way through its stream/)
  })

  test('that was cut and does not repeat fails its run, whatever would catch that', async () => {
    const { seen, type } = streaming('test.It', (at) => at)
    const of = graph(
      [node('n', 'test.It'), node('catch', 'control.Catch'), sink('out')],
      ['n.item->catch.value', 'catch.value->out.value'],
    )
    const journal = new MemoryJournal()
    await outcomeOf(of, [type], journal)
    assert.deepEqual([journal.of('item').length, journal.of('end')], [4, ['n@']])
    interrupted(await outcomeOf(of, [type], journal.cut(2)), /half-way through its stream/)
    assert.equal(seen.opened, 1)
    await outcomeOf(of, [type], journal.cut(0))
    assert.equal(seen.opened, 2)
  })

  test('that failed half-way fails there again without running', async () => {
    const { seen, type } = streaming('test.It', (at) => {
      if (at === 2) throw new NodeError('enough', 'odd')
      return at
    })
    const of = graph(
      [node('n', 'test.It'), node('catch', 'control.Catch'), sink('out'), sink('error')],
      ['n.item->catch.value', 'catch.value->out.value', 'catch.error->error.value'],
    )
    const journal = new MemoryJournal()
    const error = { node_id: 'n', node_type: 'test.It', type: 'odd', message: 'enough' }
    for (let runs = 0; runs < 2; runs++)
      assert.deepEqual(await outcomeOf(of, [type], journal), {
        status: 'completed',
        outputs: { out: [0, 1], error: [error] },
      })
    assert.equal(seen.opened, 1)
  })

  test('that no consumer wants is recorded as unwanted, and is not opened again', async () => {
    const { seen, type } = streaming('test.It', (at) => at, {}, 1_000_000)
    const of = graph(
      [node('n', 'test.It'), node('take', 'control.Take', { count: 2 }), sink('out')],
      ['n.item->take.item', 'take.item->out.value'],
    )
    const journal = new MemoryJournal()
    for (let runs = 0; runs < 2; runs++)
      assert.deepEqual(await outcomeOf(of, [type], journal), { status: 'completed', outputs: { out: [0, 1] } })
    assert.equal(seen.opened, 1)
    assert.deepEqual(journal.records.at(-1), ['end', 'n@', { unwanted: true }])
  })

  test('of a plain generator is recorded if it used the clock', async () => {
    let opened = 0
    const type = testType('test.It', {
      outputs: [item, total],
      *run(_inputs, context) {
        opened++
        const from = context.clock.now() * 0
        for (let at = 0; at < 4; at++) yield { item: from + at }
        return { total: 4 }
      },
    })
    const journal = new MemoryJournal()
    for (let runs = 0; runs < 2; runs++) assert.deepEqual(await outcomeOf(streamed('test.It'), [type], journal), all)
    assert.deepEqual([opened, journal.of('item').length, journal.of('end').length], [1, 4, 1])
  })
})

describe('an aggregate', () => {
  test('whose end is known records no other end when no consumer wants it', async () => {
    const slow = testType('test.Slow', {
      properties: [value],
      outputs: [item],
      async *run() {
        for (let at = 0; at < 20; at++) {
          await new Promise((go) => setImmediate(go))
          yield { item: at }
        }
      },
    })
    const gathers = testType('test.Gathers', {
      properties: [{ ...value, aggregate: true }],
      outputs: [output],
      effect: true,
      open: () => ({ push() {}, end: () => ({ output: 'anew' }) }),
    })
    const of = graph(
      [
        node('each', 'control.ForEach', { list: [1, 2, 3] }),
        node('slow', 'test.Slow'),
        node('all', 'test.Gathers'),
        node('take', 'control.Take', { count: 1 }),
        sink('out'),
      ],
      ['each.item->slow.value', 'slow.item->all.value', 'all.output->take.item', 'take.item->out.value'],
    )
    const ends = ['first', 'second', 'third'].map((given, at) => ['end', `all@${at}`, { outputs: { output: given } }])
    const journal = new MemoryJournal(ends.map((end) => JSON.stringify(end)))
    const outcome = await outcomeOf(of, [slow, gathers], journal)
    assert.deepEqual(outcome, { status: 'completed', outputs: { out: ['first'] } })
    assert.deepEqual(
      journal.records.filter(([, firing]) => firing.startsWith('all@')),
      ends,
    )
  })

  test('that becomes unwanted while its history is loaded does not run, and keeps its end', async () => {
    let opened = 0
    const gathers = testType('test.Gathers', {
      properties: [{ ...value, aggregate: true }],
      outputs: [output],
      effect: true,
      open() {
        opened++
        return { push() {}, end: () => ({ output: 'anew' }) }
      },
    })
    const of = graph(
      [
        node('each', 'control.ForEach', { list: [[1, 2], [3], [4, 5]] }),
        node('inner', 'control.ForEach'),
        node('all', 'test.Gathers'),
        node('take', 'control.Take', { count: 1 }),
        sink('out'),
      ],
      ['each.item->inner.list', 'inner.item->all.value', 'all.output->take.item', 'take.item->out.value'],
    )
    const ends = ['first', 'second', 'third'].map((given, at) => ['end', `all@${at}`, { outputs: { output: given } }])
    for (const slow of [[1], [0, 1], [2], [0, 1, 2]]) {
      const journal = new MemoryJournal(ends.map((end) => JSON.stringify(end)))
      journal.isSlow = (firing) => slow.some((at) => firing === `all@${at}`)
      const outcome = await outcomeOf(of, [gathers], journal)
      assert.deepEqual(outcome, { status: 'completed', outputs: { out: ['first'] } })
      assert.deepEqual(journal.records, ends)
    }
    assert.equal(opened, 0)
  })

  const summing = (steps: Partial<Record<'push' | 'clock', boolean>>, rest: Partial<NodeType> = {}) => {
    const seen = { opened: 0, pushed: 0 }
    const type = testType('test.Sum', {
      properties: [{ ...value, aggregate: true }],
      outputs: [output],
      ...rest,
      open(_inputs, context) {
        seen.opened++
        let sum = 0
        const add = (given: unknown) => {
          seen.pushed++
          if (steps.clock) context.clock.now()
          if (Number(given) > 90) throw new NodeError('too much', 'odd')
          sum += Number(given)
        }
        return {
          push: (given) => (steps.push ? Promise.resolve(given).then(add) : add(given)),
          end: () => ({ output: sum }),
        }
      },
    })
    return { seen, type }
  }
  const summed = (list: number[]) =>
    graph(
      [
        node('each', 'control.ForEach', { list }),
        node('n', 'test.Sum'),
        node('catch', 'control.Catch'),
        sink('out'),
        sink('no'),
      ],
      ['each.item->n.value', 'n.output->catch.value', 'catch.value->out.value', 'catch.error->no.value'],
    )

  test('is recorded as one firing if a step was asynchronous or used services, and reads no items again', async () => {
    for (const [steps, rest, ends] of [
      [{}, {}, 0],
      [{ push: true }, {}, 1],
      [{ clock: true }, {}, 1],
      [{}, { retry_safe: false }, 1],
    ] as const) {
      const { seen, type } = summing(steps, rest)
      const journal = new MemoryJournal()
      const out = { status: 'completed', outputs: { out: [6], no: [] } }
      for (let runs = 0; runs < 2; runs++) assert.deepEqual(await outcomeOf(summed([1, 2, 3]), [type], journal), out)
      assert.equal(journal.of('end').length, ends)
      assert.deepEqual(seen, ends === 0 ? { opened: 2, pushed: 6 } : { opened: 1, pushed: 3 })
    }
  })

  test('fails again if it had failed, and is not run twice if it must not', async () => {
    const { seen, type } = summing({ push: true }, { retry_safe: false })
    const journal = new MemoryJournal()
    const error = { node_id: 'n', node_type: 'test.Sum', type: 'odd', message: 'too much (at index 1)' }
    const out = { status: 'completed', outputs: { out: [], no: [error] } }
    for (let runs = 0; runs < 2; runs++) assert.deepEqual(await outcomeOf(summed([1, 99, 3]), [type], journal), out)
    assert.deepEqual(seen, { opened: 1, pushed: 2 })
    interrupted(await outcomeOf(summed([1, 99, 3]), [type], journal.cut(1)), /not safe to run twice/)
    assert.equal(seen.opened, 1)
  })

  test('that only passed a failure on keeps the node of the failure', async () => {
    const { seen, type } = summing({ push: true })
    const bad = testType('test.Bad', {
      properties: [value],
      outputs: [output],
      run({ value: given }) {
        if (given === 2) throw new NodeError('two', 'odd')
        return { output: given }
      },
    })
    const of = summed([1, 2, 3])
    of.nodes.push(node('bad', 'test.Bad'))
    of.edges = graph([], ['each.item->bad.value', 'bad.output->n.value']).edges.concat(of.edges.slice(1))
    const journal = new MemoryJournal()
    const error = { node_id: 'bad', node_type: 'test.Bad', type: 'odd', message: 'two (at index 1)' }
    for (let runs = 0; runs < 2; runs++)
      assert.deepEqual(await outcomeOf(of, [type, bad], journal), {
        status: 'completed',
        outputs: { out: [], no: [error] },
      })
    assert.deepEqual(seen, { opened: 1, pushed: 1 })
  })
})

test('a firing that became unwanted while it was in flight is not run again', async () => {
  const slow = Promise.withResolvers<void>()
  let begun = 0
  const type = testType('test.Slow', {
    properties: [value],
    outputs: [output],
    retry_safe: false,
    async run({ value: given }) {
      begun++
      if (given !== 0) await slow.promise
      return { output: given }
    },
  })
  const of = graph(
    [
      node('each', 'control.ForEach', { list: [0, 1, 2] }),
      node('n', 'test.Slow'),
      node('take', 'control.Take', { count: 1 }),
      sink('out'),
    ],
    ['each.item->n.value', 'n.output->take.item', 'take.item->out.value'],
  )
  const journal = new MemoryJournal()
  const first = start(of, withTypes(type), { journal: journal.open() })
  await until(() => first.observer.statuses('n').includes('completed'), 'the relief')
  slow.resolve()
  assert.deepEqual(await first.execution.done, { status: 'completed', outputs: { out: [0] } })
  assert.deepEqual(journal.of('end').sort(), ['n@0', 'n@1', 'n@2'])
  const before = begun
  assert.deepEqual(await outcomeOf(of, [type], journal), { status: 'completed', outputs: { out: [0] } })
  assert.equal(begun, before)
})
