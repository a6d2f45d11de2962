// Large values of nodes are compiled in short steps, whatever the node type does with them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { compileGraph, compileGraphSteps } from '../../../src/engine/compile/compiler.ts'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import { builtinRegistry } from '../../../src/nodes/registry.ts'

const DYNAMIC_INPUT = { a: { type: 'any' } }

function nodesOf(count: number, type: string, data: Record<string, unknown>): Graph {
  const node = (at: number) => ({ id: `n${at}`, type, data, dynamic_properties: DYNAMIC_INPUT })
  return { nodes: Array.from({ length: count }, (_, at) => node(at)), edges: [] }
}

const named = (count: number, value: (at: number) => string) => Array.from({ length: count }, (_, at) => value(at))

const GRAPHS: Readonly<Record<string, () => Graph>> = {
  'templates of prompts with many names': () =>
    nodesOf(15, 'prompt.Template', { template: named(99_000, (at) => `{{a.${at.toString(36)}}}`).join('') }),
  'a template with long paths': () =>
    nodesOf(1, 'text.Template', { template: `{{a${'[0]'.repeat(33_000)}}}`.repeat(158) }),
  'nodes with many names': () =>
    nodesOf(63, 'dict.Rename', {
      dict: {},
      names: Object.fromEntries(named(17_000, (at) => `k${at}`).map((k) => [k, ''])),
    }),
  'a list of many texts': () =>
    nodesOf(1, 'chat.Embed', { model: 'builtin/echo', texts: Array<string>(3_900_000).fill('a') }),
  'a list of many messages': () =>
    nodesOf(1, 'chat.Complete', { model: 'builtin/echo', messages: Array(3_900_000).fill({}) }),
}

/** In one step. Before values were examined in steps, each of these graphs took most of its time in one. */
const LARGEST_SHARE = 0.4

/** The share of the longest step in the processor time of the compilation, and that time in milliseconds. */
function longestShare(graph: Graph): { share: number; ms: number } {
  const steps = compileGraphSteps(graph, builtinRegistry)
  let [longest, total] = [0, 0]
  for (let done = false; !done; ) {
    const before = process.threadCpuUsage()
    done = steps.next().done === true
    const { user, system } = process.threadCpuUsage(before)
    longest = Math.max(longest, user + system)
    total += user + system
  }
  return { share: longest / total, ms: total / 1000 }
}

describe('the compilation of a graph', () => {
  for (const [name, graph] of Object.entries(GRAPHS))
    test(`${name}: no step takes most of the time, unless the whole is short`, () => {
      const { share, ms } = longestShare(graph())
      assert.ok(ms < 60 || share < LARGEST_SHARE, `${share.toFixed(2)} of ${ms.toFixed(0)} ms`)
    })

  test('names of long templates are left to the firing, those of others are warned of', () => {
    const codes = (template: string) => {
      const steps = compileGraphSteps(nodesOf(1, 'text.Template', { template }), builtinRegistry, true)
      for (let step = steps.next(); ; step = steps.next())
        if (step.done) return step.value.issues.map(({ code }) => code)
    }
    assert.deepEqual(codes(`${' '.repeat(99_990)}{{b}}`), ['unknown_name'])
    assert.deepEqual(codes(`${' '.repeat(99_999)}{{b}}`), [])
  })
})

describe('the display name of a node', () => {
  const nameOf = (name: string) => {
    const graph = { nodes: [{ id: 'n', type: 'output.Output', data: { name, value: 1 } }], edges: [] }
    return compileGraph(graph, builtinRegistry).plan?.nodes[0]?.observed.node_name
  }

  test('is its own name, or that of its type where its own is very long: frames repeat it', () => {
    assert.equal(nameOf('a'.repeat(1_000)), 'a'.repeat(1_000))
    assert.equal(nameOf('a'.repeat(1_001)), 'Output')
  })
})
