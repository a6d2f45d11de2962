// The history of a firing may take long to load: meanwhile it may become unwanted, the run may be cancelled, and loading may fail.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { Journal } from '../../src/engine/durability/journal.ts'
import type { InputValues } from '../../src/engine/node-api/firing-forms.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { graph, node, output, sink, source, start, testType, until, value, withTypes } from './kit.ts'
import { MemoryJournal } from './memory-journal.ts'

interface Slowness {
  /** Whether the history of this firing of the node `n` is loaded slowly. */
  readonly isSlow?: (path: string) => boolean
  readonly recall?: () => never
}

/** A journal that loads histories of firings of the node `n` slowly, until it is told to end. */
function slowly(kept: MemoryJournal, { isSlow = () => true, recall }: Slowness = {}) {
  const reading = Promise.withResolvers<void>()
  const asked: string[] = []
  const opened = kept.open()
  const changed: Pick<Journal, 'recall' | 'prepareRecall'> = {
    recall: (node_id, path) => (node_id === 'n' && recall ? recall() : opened.recall(node_id, path)),
    prepareRecall(node_id, path) {
      if (node_id !== 'n' || !isSlow(path)) return null
      asked.push(path)
      return reading.promise
    },
  }
  const journal = new Proxy(opened, {
    get(_target, name) {
      const member = Reflect.get(changed, name) ?? Reflect.get(opened, name, opened)
      return typeof member === 'function' ? member.bind(opened) : member
    },
  })
  return { journal, asked, read: () => reading.resolve() }
}

let begun = 0

const counted = (name: string, rest: Partial<NodeType> = {}) =>
  testType(name, {
    properties: [value],
    outputs: [output],
    run: async ({ value: given }: InputValues) => {
      begun++
      return { output: Number(given) + 1 }
    },
    ...rest,
  })

const single = counted('test.Single')
const aggregate = testType('test.Sum', {
  properties: [{ name: 'items', type: ANY_TYPE, required: true, aggregate: true }],
  outputs: [output],
  effect: true,
  open: () => {
    begun++
    let sum = 0
    return {
      push(one) {
        sum += Number(one)
      },
      end: () => ({ output: sum }),
    }
  },
})
const types = withTypes(single, aggregate)

const one: Graph = graph(
  [source('in', 1), node('n', 'test.Single'), sink('out')],
  ['in.output->n.value', 'n.output->out.value'],
)
const sum: Graph = graph(
  [node('numbers', 'control.Numbers', { from: 1, to: 5 }), node('n', 'test.Sum'), sink('out')],
  ['numbers.item->n.items', 'n.output->out.value'],
)

/** Runs the graph to its end once, and returns its journal. */
async function remembering(of: Graph): Promise<MemoryJournal> {
  const journal = new MemoryJournal()
  assert.equal((await start(of, types, { journal: journal.open(), seed: 1 }).execution.done).status, 'completed')
  begun = 0
  return journal
}

for (const [what, of, out] of [
  ['one firing', one, 2],
  ['an aggregate', sum, 15],
] as const)
  describe(`what is known of ${what}, read before`, () => {
    test('is awaited, and its code does not run again', async () => {
      const { journal, asked, read } = slowly(await remembering(of))
      const { execution } = start(of, types, { journal, seed: 1 })
      await until(() => asked.length === 1)
      assert.equal(execution.outcome, null)
      read()
      assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [out] } })
      assert.deepEqual([begun, asked.length], [0, 1])
    })

    test('of a run that is cancelled meanwhile, is asked for no more', async () => {
      const recall = () => assert.fail('asked for')
      const { journal, asked, read } = slowly(await remembering(of), { recall })
      const { execution, abort } = start(of, types, { journal, seed: 1 })
      await until(() => asked.length === 1)
      abort.abort()
      read()
      assert.deepEqual(await execution.done, { status: 'cancelled' })
      assert.equal(begun, 0)
    })

    test('that cannot be read, fails the run as it would have without', async () => {
      const recall = () => {
        throw new Error('unreadable')
      }
      const kept = await remembering(of)
      const ended = async (journal: Journal) => {
        const { execution } = start(of, types, { journal, seed: 1 })
        return execution.done.then(
          (outcome) => outcome,
          (error: Error) => error.message,
        )
      }
      const { journal, read } = slowly(kept, { recall })
      read()
      const atOnce = slowly(kept, { recall, isSlow: () => false }).journal
      assert.deepEqual(await ended(journal), await ended(atOnce))
      assert.equal(begun, 0)
    })
  })

test('a firing that becomes unwanted while its history is loaded is dropped, and the run ends', async () => {
  const taken = graph(
    [
      node('numbers', 'control.Numbers', { from: 1, to: 3 }),
      node('n', 'test.Single'),
      node('first', 'control.Take', { count: 1 }),
      node('list', 'control.Collect'),
      sink('out'),
    ],
    ['numbers.item->n.value', 'n.output->first.item', 'first.item->list.item', 'list.list->out.value'],
  )
  const { journal, asked, read } = slowly(await remembering(taken), { isSlow: (path) => path !== '0' })
  const { execution } = start(taken, types, { journal, seed: 1 })
  await until(() => asked.length > 0 || execution.outcome !== null)
  read()
  assert.deepEqual(await execution.done, { status: 'completed', outputs: { out: [[2]] } })
  assert.equal(begun, 0)
  // If a slice ends before the first item is read, the next firing has been recalled as well.
  assert.deepEqual(asked, ['1', '2'].slice(0, Math.max(1, asked.length)))
})
