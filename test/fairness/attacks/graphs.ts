// Large graphs that are stored, read, listed as an interface and run.
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { Attack, AttackOf } from '../kit.ts'

const sized = (full: number, share: number) => Math.max(2, Math.floor(full * share))

/** Nodes in a chain. */
function chain(count: number): Graph {
  const nodes = Array.from({ length: count }, (_, at) => ({ id: `n${at}`, type: 'text.Trim', data: { text: '' } }))
  const edges = nodes
    .slice(1)
    .map(({ id }, at) => ({ source: `n${at}`, sourceHandle: 'output', target: id, targetHandle: 'text' }))
  return { nodes, edges }
}

/** A few nodes with very many edges, most of which are invalid. */
function tangle(count: number): Graph {
  const nodes = Array.from({ length: 100 }, (_, at) => ({ id: `n${at}`, type: 'text.Concat', data: {} }))
  const edges = Array.from({ length: count }, (_, at) => ({
    source: `n${at % 100}`,
    sourceHandle: 'output',
    target: `n${(at + 1) % 100}`,
    targetHandle: `a${at}`,
  }))
  return { nodes, edges }
}

const workflow = (graph: Graph) => JSON.stringify({ name: 'Attack', graph })

const storing = (name: string, graph: Graph): Attack => {
  const body = workflow(graph)
  return {
    name,
    async strike(attacker) {
      const { text } = await attacker.expect(201, 'POST', '/api/workflows', body)
      const { id } = JSON.parse(text) as { id: string }
      await attacker.expect(204, 'DELETE', `/api/workflows/${id}`)
    },
  }
}

export const chains: AttackOf = (share) => {
  const count = sized(100_000, share)
  return storing(`storing a chain of ${count.toLocaleString('en')} nodes`, chain(count))
}

export const tangles: AttackOf = (share) => {
  const count = sized(180_000, share)
  return storing(`storing ${count.toLocaleString('en')} edges between 100 nodes`, tangle(count))
}

/** Reads stored data in each possible way. */
const reads: AttackOf = (share) => {
  const count = sized(100_000, share)
  let id = ''
  return {
    name: `reading a chain of ${count.toLocaleString('en')} nodes`,
    async prepare(attacker) {
      id = await attacker.store(chain(count))
    },
    async strike(attacker) {
      await attacker.expect(200, 'GET', `/api/workflows/${id}`)
      await attacker.expect(200, 'GET', `/api/workflows/${id}/versions?fields=full`)
      await attacker.expect(200, 'GET', `/api/workflows/${id}/interface?version=1`)
    },
  }
}

/** Each node is an input of the interface. */
const inputs: AttackOf = (share) => {
  const count = sized(100_000, share)
  let id = ''
  return {
    name: `the interface of ${count.toLocaleString('en')} inputs`,
    side_by_side: 4,
    async prepare(attacker) {
      const node = (at: number) => ({ id: `n${at}`, type: 'input.String', data: { name: `in${at}`, value: '' } })
      id = await attacker.store({ nodes: Array.from({ length: count }, (_, at) => node(at)), edges: [] })
    },
    strike: (attacker) => attacker.expect(200, 'GET', `/api/workflows/${id}/interface`),
  }
}

export const runs: AttackOf = (share) => {
  const count = sized(100_000, share)
  let id = ''
  return {
    name: `running a chain of ${count.toLocaleString('en')} nodes`,
    async prepare(attacker) {
      id = await attacker.store(chain(count))
    },
    strike: (attacker) => attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}'),
  }
}

/** Two calls of the graph in one run. */
const calls: AttackOf = (share) => {
  const count = sized(100_000, share)
  let id = ''
  return {
    name: `calling a chain of ${count.toLocaleString('en')} nodes`,
    async prepare(attacker) {
      const workflow_id = await attacker.store(chain(count))
      const call = (id: string) => ({ id, type: 'workflow.Call', data: { workflow_id } })
      id = await attacker.store({ nodes: [call('one'), call('two')], edges: [] })
    },
    strike: (attacker) => attacker.expect(200, 'POST', `/api/workflows/${id}/run`, '{}'),
  }
}

const DYNAMIC_INPUT = { a: { type: 'any' } }

const nodesOf = (count: number, type: string, data: Record<string, unknown>): Graph => ({
  nodes: Array.from({ length: count }, (_, at) => ({ id: `n${at}`, type, data, dynamic_properties: DYNAMIC_INPUT })),
  edges: [],
})

const named = (count: number, value: (at: number) => string) => Array.from({ length: count }, (_, at) => value(at))

/** The names in templates are checked when a graph is stored. These nodes have as many as a body has room for. */
const promptTemplates: AttackOf = (share) => {
  const template = named(sized(99_000, share), (at) => `{{a.${at.toString(36)}}}`).join('')
  return storing('storing 15 templates of prompts', nodesOf(15, 'prompt.Template', { template }))
}

const longPaths: AttackOf = (share) => {
  const template = `{{a${'[0]'.repeat(sized(33_000, share))}}}`.repeat(150)
  return storing('storing a template with 150 long paths', nodesOf(1, 'text.Template', { template }))
}

const largeConstants: AttackOf = (share) => {
  const names = Object.fromEntries(named(sized(17_000, share), (at) => `k${at}`).map((name) => [name, '']))
  return storing('storing 63 nodes of many names', nodesOf(63, 'dict.Rename', { dict: {}, names }))
}

const manyTexts: AttackOf = (share) => {
  const texts = Array<string>(sized(3_900_000, share)).fill('a')
  return storing(
    `storing ${texts.length.toLocaleString('en')} texts`,
    nodesOf(1, 'chat.Embed', { model: 'builtin/echo', texts }),
  )
}

export const graphs: readonly AttackOf[] = [
  chains,
  tangles,
  reads,
  inputs,
  runs,
  calls,
  promptTemplates,
  longPaths,
  largeConstants,
  manyTexts,
]
