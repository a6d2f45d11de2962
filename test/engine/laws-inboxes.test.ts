// Inboxes keep their limit: over random trees of nodes, no producer gets further ahead of a slow consumer than the laws allow.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ANY_TYPE, parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import { edge, graph, node, outputs, sink, testType, withTypes } from './kit.ts'
import { holds } from './random-verdict.ts'

/** The limit of items fetched ahead from an asynchronous generator, and of one node's buffer. */
const AHEAD = 64
const WINDOW = 64
const IN_FLIGHT = 16

/** The number of items that a node received and sent so far. */
class Counts {
  readonly taken = new Map<string, number>()
  readonly given = new Map<string, number>()

  add(which: 'taken' | 'given', id: string): void {
    this[which].set(id, (this[which].get(id) ?? 0) + 1)
  }
}

type Manner = 'sync' | 'async' | 'slow'

async function rest(manner: Manner): Promise<void> {
  if (manner === 'slow') await new Promise((resolve) => setImmediate(resolve))
}

function types(counts: Counts, check: () => void) {
  const item = { name: 'item', type: parseType('int'), stream: true }
  const took = (id: string) => {
    counts.add('taken', id)
    check()
  }
  const gave = (id: string) => {
    counts.add('given', id)
    check()
  }
  const make = (manner: Manner) => [
    testType(`test.Give.${manner}`, {
      properties: [{ name: 'count', type: parseType('int'), required: true }],
      outputs: [item],
      run: ({ count }, { node_id }) =>
        manner === 'sync' ? plain(Number(count), node_id) : waiting(Number(count), node_id),
    }),
    testType(`test.Pass.${manner}`, {
      properties: [{ name: 'value', type: ANY_TYPE, required: true }],
      outputs: [{ name: 'output', type: ANY_TYPE }],
      run({ value }, { node_id }) {
        took(node_id)
        return manner === 'sync' ? passed(value, node_id) : rest(manner).then(() => passed(value, node_id))
      },
    }),
  ]
  function passed(value: unknown, id: string) {
    gave(id)
    return { output: value }
  }
  function* plain(count: number, id: string) {
    for (let at = 0; at < count; at++) {
      gave(id)
      yield { item: at }
    }
  }
  async function* waiting(count: number, id: string) {
    yield* plain(count, id)
  }
  return (['sync', 'async', 'slow'] as const).flatMap(make)
}

const manner = fc.constantFrom<Manner>('sync', 'async', 'slow')
const trees = fc.record({
  producer: manner,
  count: fc.integer({ min: 0, max: 150 }),
  /** Each node reads from the producer or an earlier node. */
  nodes: fc.array(fc.tuple(manner, fc.nat(10)), { minLength: 1, maxLength: 5 }),
  inboxLimit: fc.constantFrom(1, 2, 5, 16, 64),
  concurrency: fc.integer({ min: 1, max: 20 }),
})

describe('bounds of inboxes', () => {
  test('a producer is ahead of each consumer by no more than an inbox and what is in flight', async () => {
    let tight = 0
    await holds(trees, 1000, async ({ producer, count, nodes, inboxLimit, concurrency }) => {
      const counts = new Counts()
      const sources = nodes.map(([, pick], at) => pick % (at + 1))
      const name = (at: number) => `n${at}`
      let most = 0
      let broken: string | null = null
      const check = () => {
        for (const [at, source] of sources.entries()) {
          const ahead = (counts.given.get(name(source)) ?? 0) - (counts.taken.get(name(at + 1)) ?? 0)
          const own = source === 0 ? producer : nodes[source - 1]![0]
          // An item that is being sent or read is in no inbox.
          const beside = own === 'sync' ? 1 : source === 0 ? AHEAD + 1 : IN_FLIGHT + WINDOW
          if (ahead > inboxLimit + beside) broken ??= `${name(source)} (${own}) was ${ahead} ahead of ${name(at + 1)}`
          most = Math.max(most, ahead)
        }
      }
      const of = graph(
        [
          node('n0', `test.Give.${producer}`, { count }),
          ...nodes.map(([own], at) => node(name(at + 1), `test.Pass.${own}`)),
          sink('out'),
        ],
        [
          ...sources.map((source, at) =>
            edge(`${name(source)}.${source === 0 ? 'item' : 'output'}->${name(at + 1)}.value`),
          ),
          edge(`${name(nodes.length)}.output->out.value`),
        ],
      )
      const { out } = await outputs(of, withTypes(...types(counts, check)), { inboxLimit, concurrency })
      assert.equal(broken, null)
      assert.equal(out!.length, count)
      if (count > inboxLimit && most >= inboxLimit) tight++
    })
    assert.ok(tight > 0, 'no inbox was ever full')
  })
})
