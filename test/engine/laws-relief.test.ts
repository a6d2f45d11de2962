// The laws of relief: what a stream operator leaves unread, and which nodes that relieves.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ItemRequest } from '../../src/engine/node-api/firing-forms.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import {
  Counter,
  edge,
  Gate,
  graph,
  item,
  mapType,
  node,
  outputs,
  sink,
  source,
  start,
  testType,
  until,
  withTypes,
} from './kit.ts'

const each = (id: string, list: unknown) => node(id, 'control.ForEach', { list })

/** An endless stream; counts its open generators. */
class Endless {
  open = 0
  given = 0
  readonly type: NodeType

  constructor(node_type = 'test.Endless') {
    this.type = testType(node_type, { outputs: [item], run: () => this.#items() })
  }

  async *#items() {
    this.open++
    try {
      for (;;) {
        yield { item: this.given++ }
        await new Promise((resolve) => setImmediate(resolve))
      }
    } finally {
      this.open--
    }
  }
}

describe('law 16: a stream operator may return before its streams have ended', () => {
  test('law 16: the rest is dropped, and its own single outputs are sent before the rest has arrived', async () => {
    const of = graph(
      [
        each('one', [1, 2, 3, 4]),
        node('take', 'control.Take', { count: 1 }),
        node('list', 'control.Collect'),
        node('note', 'text.Template', { template: '{{a}}/{{b}}' }),
        sink('out'),
        sink('notes'),
      ],
      [
        'one.item->take.item',
        'take.item->list.item',
        'list.list->out.value',
        'one.item->note.a',
        'take.count->note.b',
        'note.output->notes.value',
      ],
    )
    // The stream waits, item by item, for the demand of the Take.
    const given = await outputs(of, withTypes(), { inboxLimit: 1 })
    assert.deepEqual(given, { out: [[1]], notes: ['1/1', '2/1', '3/1', '4/1'] })
  })
})

describe('law 17: nodes whose outputs no consumer wants are relieved', () => {
  const taking = (count: number, type: string, inner = 'test.Same') =>
    graph(
      [node('from', type, { count: 1000 }), node('inner', inner), node('take', 'control.Take', { count }), sink('out')],
      ['from.item->inner.value', 'inner.output->take.item', 'take.item->out.value'],
    )
  const same = mapType('test.Same', (given) => given)

  test('law 17: a Take ends an endless stream', async () => {
    const endless = new Endless()
    assert.deepEqual(await outputs(taking(3, 'test.Endless'), withTypes(endless.type, same)), { out: [0, 1, 2] })
    await until(() => endless.open === 0)
  })

  test('law 17: the generator is ended, and no more items are fetched', async () => {
    const counter = new Counter()
    const given = await outputs(taking(2, 'test.Counter'), withTypes(counter.type, same), { inboxLimit: 2 })
    assert.deepEqual(given, { out: [0, 1] })
    assert.ok(counter.ended)
    assert.ok(counter.given < 20, `${counter.given} items were given`)
  })

  test('law 66: no item of a stream that is pulled on demand is fetched behind the last one taken, however slow the nodes between are', async () => {
    let asked = 0
    async function* items() {
      for (;;) yield { item: asked++ }
    }
    const frugal = testType('test.Frugal', { outputs: [item], isPulledOnDemand: true, run: items })
    const slow = mapType('test.Slow', (given) => {
      // Longer than a slice of work, so that the event loop has its turn before the next node.
      for (const end = performance.now() + 10; performance.now() < end; );
      return given
    })
    const given = await outputs(taking(3, 'test.Frugal', 'test.Slow'), withTypes(frugal, slow))
    assert.deepEqual([given, asked], [{ out: [0, 1, 2] }, 3])
  })

  test('law 66: items of other streams are fetched ahead', async () => {
    let asked = 0
    async function* items() {
      for (;;) yield { item: asked++ }
    }
    const eager = testType('test.Eager', { outputs: [item], run: items })
    const slow: NodeType = {
      ...mapType('test.Later', (given) => given),
      run: async ({ value }) => {
        await new Promise((resolve) => setTimeout(resolve, 20))
        return { output: value }
      },
    }
    await outputs(taking(1, 'test.Eager', 'test.Later'), withTypes(eager, slow))
    assert.ok(asked > 1 && asked <= 64 + 1024, `${asked} were asked for`)
  })

  test('law 17: a node with another consumer continues', async () => {
    const counter = new Counter()
    const of = taking(1, 'test.Counter')
    const nodes = [...of.nodes, node('all', 'control.Count'), sink('count')]
    const edges = [...of.edges, edge('inner.output->all.item'), edge('all.count->count.value')]
    const given = await outputs({ nodes, edges }, withTypes(counter.type, same))
    assert.deepEqual(given, { out: [0], count: [1000] })
  })

  test('law 17: relief lasts until the end of that stream, not longer', async () => {
    const of = graph(
      [
        each('rows', [1, 2, 3]),
        node('many', 'control.Numbers'),
        node('add', 'math.Formula', { formula: 'x * 10 + y' }),
        node('take', 'control.Take', { count: 2 }),
        sink('out'),
      ],
      [
        edge('rows.item->many.from'),
        'rows.item->add.x',
        'many.item->add.y',
        'add.output->take.item',
        'take.item->out.value',
      ],
    )
    assert.deepEqual(await outputs(of), { out: [11, 12, 22, 23, 33, 34] })
  })

  test('law 17: work in flight is discarded, whether it succeeds or fails', async () => {
    for (const end of ['open', 'fail'] as const) {
      const gate = new Gate()
      const of = taking(1, 'test.Counter', 'test.Gate')
      const { execution, observer } = start(of, withTypes(new Counter().type, gate.type))
      await until(() => gate.waiting.length === 16)
      gate.waiting[0]!.open('first')
      await until(() => observer.named('output').length === 1)
      const began = gate.started
      for (const waiting of [...gate.waiting]) waiting[end](new NodeError('too late'))
      assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: ['first'] } })
      assert.equal(gate.started, began)
    }
  })

  test('law 17: an item that a stream operator has yielded, and that was not sent yet, is dropped', async () => {
    const whole = (name: string) => ({ name, type: ANY_TYPE, required: true, aggregate: true })
    const first = testType('test.First', {
      properties: [whole('a'), whole('b')],
      outputs: [item, { name: 'first', type: ANY_TYPE }],
      *streamOperator() {
        return { first: yield new ItemRequest('b') }
      },
    })
    // The number of earlier turns of the stream operator decides whether the other one is over while an item is being sent.
    for (let turns = 0; turns < 4; turns++) {
      const passes = Array.from({ length: turns }, (_, at) => node(`pass${at}`, 'test.Pass'))
      const chain = ['count.output', ...passes.flatMap(({ id }) => [`${id}.value`, `${id}.output`]), 'take.count']
      const of = graph(
        [
          each('one', [...Array(200).keys()]),
          source('count', 150),
          ...passes,
          node('take', 'control.Take'),
          each('two', ['x']),
          node('n', 'test.First'),
          sink('out'),
        ],
        [
          'one.item->take.item',
          ...Array.from({ length: turns + 1 }, (_, at) => `${chain[at * 2]}->${chain[at * 2 + 1]}`),
          'take.item->n.a',
          'two.item->n.b',
          'n.first->out.value',
        ],
      )
      const { execution } = start(
        of,
        withTypes(
          first,
          mapType('test.Pass', (given) => given),
        ),
      )
      await until(() => execution.outcome !== null, 'the end')
      assert.deepEqual(execution.outcome, { status: 'completed', outputs: { out: ['x'] } })
    }
  })
})
