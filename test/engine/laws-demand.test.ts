// Law 68: how far streams run ahead of stream operators that may leave them unread.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { Counter, edge, Gate, graph, mapType, node, outputs, sink, start, until, withTypes } from './kit.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Passes its value on, and counts its firings. */
class Passes {
  count = 0
  readonly types: NodeType[]

  constructor() {
    const pass = (given: unknown) => {
      this.count++
      return given
    }
    const now = mapType('test.Now', pass)
    this.types = [
      now,
      {
        ...now,
        node_type: 'test.Later',
        run: async ({ value }) => {
          await turn()
          return { output: pass(value) }
        },
      },
    ]
  }
}

/** `from -> n0 -> n1 … -> take -> out`; each link has a type, an input and an output. */
function chain(length: number, link: readonly [string, string, string], count: number, data = {}) {
  const [type, input, output] = link
  const names = Array.from({ length }, (_, at) => `n${at}`)
  return graph(
    [
      node('from', 'test.Counter', { count: 100_000 }),
      ...names.map((name) => node(name, type, data)),
      node('take', 'control.Take', { count }),
      sink('out'),
    ],
    [
      edge(`from.item->n0.${input}`),
      ...names.slice(1).map((name, at) => edge(`n${at}.${output}->${name}.${input}`)),
      edge(`n${length - 1}.${output}->take.item`),
      edge('take.item->out.value'),
    ],
  )
}

describe('law 68: a stream that may stay unread is ahead by at most an inbox plus the items read', () => {
  for (const [what, type, length] of [
    ['nodes that give their results at once', 'test.Now', 200],
    ['nodes that give them later', 'test.Later', 40],
  ] as const) {
    for (const count of [1, 30]) {
      test(`law 68: over a long chain of ${what}, where ${count} are taken`, async () => {
        const [passes, counter] = [new Passes(), new Counter()]
        const of = chain(length, [type, 'value', 'output'], count)
        const { out } = await outputs(of, withTypes(counter.type, ...passes.types))
        assert.equal(out!.length, count)
        // The last items may be read before the stream is told that no more is wanted.
        const most = 64 + 2 * count + 2
        assert.ok(counter.given <= most, `${counter.given} items were given`)
        assert.ok(passes.count <= most * length, `${passes.count} firings`)
      })
    }
  }

  test('law 68: over a long chain of stream operators', async () => {
    const counter = new Counter()
    const { out } = await outputs(
      chain(200, ['control.Take', 'item', 'item'], 1, { count: 50_000 }),
      withTypes(counter.type),
    )
    assert.equal(out!.length, 1)
    assert.ok(counter.given <= 66, `${counter.given} items were given`)
  })

  test('law 68: in each of several nested streams', async () => {
    const counter = new Counter()
    const passes = new Passes()
    const of = graph(
      [
        node('rows', 'control.ForEach', { list: [100_000, 100_000, 100_000, 100_000, 100_000, 100_000] }),
        node('from', 'test.Counter'),
        ...Array.from({ length: 50 }, (_, at) => node(`n${at}`, 'test.Now')),
        node('take', 'control.Take', { count: 1 }),
        sink('out'),
      ],
      [
        'rows.item->from.count',
        'from.item->n0.value',
        ...Array.from({ length: 49 }, (_, at) => `n${at}.output->n${at + 1}.value`),
        'n49.output->take.item',
        'take.item->out.value',
      ],
    )
    const { out } = await outputs(of, withTypes(counter.type, ...passes.types))
    assert.equal(out!.length, 6)
    assert.ok(passes.count <= 6 * 50 * 3 * 64, `${passes.count} firings`)
  })

  test('law 68: a stream continues when no other work is in progress and more is wanted', async () => {
    for (const type of ['test.Now', 'test.Later']) {
      const [passes, counter] = [new Passes(), new Counter()]
      const of = graph(
        [
          node('from', 'test.Counter', { count: 10_000 }),
          node('pass', type),
          node('batch', 'control.Batch', { size: 1_000 }),
          node('take', 'control.Take', { count: 2 }),
          sink('out'),
        ],
        ['from.item->pass.value', 'pass.output->batch.item', 'batch.list->take.item', 'take.item->out.value'],
      )
      const { out } = await outputs(of, withTypes(counter.type, ...passes.types), { inboxLimit: 4 })
      assert.deepEqual(
        out!.map((batch) => (batch as unknown[]).length),
        [1_000, 1_000],
      )
    }
  })

  test('law 68: a stream waits while the items taken are not read further', async () => {
    const [passes, counter, gate] = [new Passes(), new Counter(), new Gate()]
    const of = chain(50, ['test.Now', 'value', 'output'], 10_000)
    const nodes = [...of.nodes.filter(({ id }) => id !== 'out'), node('gate', 'test.Gate'), sink('out')]
    const edges = [
      ...of.edges.filter(({ target }) => target !== 'out'),
      edge('take.item->gate.value'),
      edge('gate.output->out.value'),
    ]
    const { execution, abort } = start(graph(nodes, edges), withTypes(counter.type, gate.type, ...passes.types))
    await until(() => gate.waiting.length === 16)
    for (let turns = 0; turns < 50; turns++) await turn()
    const taken = 16 + 64 + 1
    assert.ok(counter.given <= 64 + 2 * taken, `${counter.given} items were given`)
    abort.abort()
    for (const waiting of [...gate.waiting]) waiting.open()
    await execution.done
  })

  test('law 68: a stream that is read goes on at full width', async () => {
    const [gate, counter] = [new Gate(), new Counter()]
    const of = chain(1, ['test.Gate', 'value', 'output'], 500)
    const { execution } = start(of, withTypes(counter.type, gate.type))
    for (let given = 0; given < 400; given++) {
      await until(() => gate.waiting.length === 16, '16 firings')
      gate.waiting[0]!.open()
    }
    assert.equal(gate.most, 16)
    while (execution.outcome === null) {
      for (const waiting of [...gate.waiting]) waiting.open()
      await turn()
    }
    assert.equal(execution.outcome.status, 'completed')
  })

  test('law 68: an opener of another kind of node, and a stream wanted elsewhere, are not limited', async () => {
    const [passes, counter] = [new Passes(), new Counter()]
    const of = chain(3, ['test.Now', 'value', 'output'], 1)
    const nodes = [...of.nodes, node('all', 'control.Count'), sink('count')]
    const edges = [...of.edges, edge('n1.output->all.item'), edge('all.count->count.value')]
    const given = await outputs(graph(nodes, edges), withTypes(counter.type, ...passes.types))
    assert.deepEqual([given.count, given.out!.length], [[100_000], 1])
  })
})
