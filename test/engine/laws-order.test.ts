// The order inside a stream: over random pipes whose firings end in any order, every node receives all items in the order of their paths. A
// value is its own path.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { ItemRequest, STREAM_END } from '../../src/engine/node-api/firing-forms.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { edge, graph, item, node, output, outputs, sink, testType, value, withTypes } from './kit.ts'
import { holds, limits } from './random-verdict.ts'

type Path = number[]

const a = { name: 'a', type: ANY_TYPE, required: true }
const b = { name: 'b', type: ANY_TYPE, required: true }
const whole = { aggregate: true }

function turns(path: unknown): number {
  return (path as Path).reduce((sum, at) => (sum * 5 + at * 3 + 1) % 7, 3) % 4
}

async function soon(path: unknown): Promise<void> {
  for (let left = turns(path); left > 0; left--) await new Promise((resolve) => setImmediate(resolve))
}

function inOrder(seen: Path[]): void {
  for (const [at, path] of seen.entries()) {
    if (at === 0) continue
    const before = seen[at - 1]!
    const differ = path.findIndex((one, place) => one !== before[place])
    assert.ok(differ >= 0 && path[differ]! > before[differ]!, `${before} came before ${path}`)
  }
}

/** Types whose firings are slow or fast, depending on the path; each records the paths of its firings. */
function types(seen: Map<string, Path[]>, slow: boolean): NodeType[] {
  const note = (id: string, path: unknown) => {
    const list = seen.get(id) ?? []
    seen.set(id, [...list, path as Path])
  }
  const wait = slow ? soon : async () => {}
  const path = (given: unknown, at: number) => ({ item: [...(given as Path), at] })
  return [
    testType('test.Open', {
      properties: [value, { name: 'count', type: ANY_TYPE, required: true }],
      outputs: [item],
      async *run({ value: given, count }, { node_id }) {
        note(node_id, given)
        for (let at = 0; at < Number(count); at++) {
          await wait(given)
          yield path(given, at)
        }
        return {}
      },
    }),
    testType('test.Pass', {
      properties: [value],
      outputs: [output],
      async run({ value: given }, { node_id }) {
        note(node_id, given)
        await wait(given)
        return { output: given }
      },
    }),
    testType('test.Same', {
      properties: [a, b],
      outputs: [output],
      run(inputs, { node_id }) {
        note(node_id, inputs.a)
        assert.deepEqual(inputs.a, inputs.b)
        return { output: inputs.a }
      },
    }),
    testType('test.Both', {
      properties: [
        { ...a, ...whole },
        { ...b, ...whole },
      ],
      outputs: [item],
      *streamOperator(_inputs, { node_id }) {
        for (;;) {
          const first = yield new ItemRequest('a')
          const second = yield new ItemRequest('b')
          assert.deepEqual(first, second)
          if (first === STREAM_END) return {}
          note(node_id, first)
          yield { item: first }
        }
      },
    }),
    testType('test.Gather', {
      properties: [{ ...value, ...whole }],
      outputs: [output],
      open(_inputs, { node_id }) {
        const items: Path[] = []
        return {
          async push(given) {
            note(node_id, given)
            await wait(given)
            items.push(given as Path)
          },
          end: () => ({ output: items }),
        }
      },
    }),
  ]
}

const pipes = fc.record({
  counts: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 3 }),
  stages: fc.array(fc.constantFrom('Pass', 'Same', 'Both'), { maxLength: 5 }),
  slow: fc.boolean(),
})

function pathsOf(counts: readonly number[]): Path[] {
  let paths: Path[] = [[]]
  for (const count of counts) paths = paths.flatMap((path) => Array.from({ length: count }, (_, at) => [...path, at]))
  return paths
}

describe('order inside a stream', () => {
  test('every node receives all items in the order of their paths', async () => {
    await holds(fc.tuple(pipes, limits), 1000, async ([{ counts, stages, slow }, limit]) => {
      const nodes = [node('root', 'input.Any', { name: 'root', value: [] })]
      const edges = []
      let from = 'root.output'
      for (const [at, count] of counts.entries()) {
        nodes.push(node(`o${at}`, 'test.Open', { count }))
        edges.push(edge(`${from}->o${at}.value`))
        from = `o${at}.item`
      }
      for (const [at, stage] of stages.entries()) {
        if (stage === 'Pass') {
          nodes.push(node(`s${at}`, 'test.Pass'))
          edges.push(edge(`${from}->s${at}.value`))
        } else {
          nodes.push(node(`s${at}`, `test.${stage}`), node(`p${at}`, 'test.Pass'))
          edges.push(edge(`${from}->s${at}.a`), edge(`${from}->p${at}.value`), edge(`p${at}.output->s${at}.b`))
        }
        from = `s${at}.${stage === 'Both' ? 'item' : 'output'}`
      }
      nodes.push(sink('out'), sink('list'), node('all', 'test.Gather'))
      edges.push(edge(`${from}->out.value`), edge(`${from}->all.value`), edge('all.output->list.value'))
      const seen = new Map<string, Path[]>()
      const given = await outputs(graph(nodes, edges), withTypes(...types(seen, slow)), limit)
      const paths = pathsOf(counts)
      assert.deepEqual([given.out, given.list!.flat(1)], [paths, paths])
      for (const [id, list] of seen) {
        inOrder(list)
        const depth = id.startsWith('o') ? Number(id.slice(1)) : counts.length
        assert.deepEqual(list, pathsOf(counts.slice(0, depth)), id)
      }
    })
  })
})
