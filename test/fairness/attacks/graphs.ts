// Large graphs: stored, read, listed as an interface and run.
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { Attack, AttackOf } from '../kit.ts'

const sized = (full: number, share: number) => Math.max(2, Math.floor(full * share))

/** Nodes one behind the other. */
function chain(count: number): Graph {
  const nodes = Array.from({ length: count }, (_, at) => ({ id: `n${at}`, type: 'text.Trim', data: { text: '' } }))
  const edges = nodes
    .slice(1)
    .map(({ id }, at) => ({ source: `n${at}`, sourceHandle: 'output', target: id, targetHandle: 'text' }))
  return { nodes, edges }
}

/** A few nodes with very many edges between them, of which most are wrong. */
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

/** Reads what is stored, in each way that there is. */
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

/** Each of its nodes is an input, and stands in the interface. */
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

/** Two calls of it in one run. */
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

export const graphs: readonly AttackOf[] = [chains, tangles, reads, inputs, runs, calls]
