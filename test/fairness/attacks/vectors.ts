// Vector indexes: many long vectors with long metadata, and searches over all of them.
import type { Graph } from '../../../src/engine/compile/graph.ts'
import type { Attack, AttackOf } from '../kit.ts'
import { sized } from './values.ts'

const listOf = <T>(count: number, item: (at: number) => T) => Array.from({ length: count }, (_, at) => item(at))

/** The most numbers, and the most metadata, of one entry. */
const longVector = (seed: number) => listOf(8_192, (at) => (seed + at) % 10)
const METADATA = { tags: listOf(7_000, (at) => at % 10) }

/** Runs one node whose lists come as parameters. */
function firing(type: string, data: Record<string, unknown>, inputs: Record<string, unknown>): Omit<Attack, 'name'> {
  const names = Object.keys(inputs)
  const graph: Graph = {
    nodes: [
      ...names.map((name) => ({ id: name, type: 'input.Any', data: { name } })),
      { id: 'node', type, data: { index: 'vectors', ...data } },
    ],
    edges: names.map((name) => ({ source: name, sourceHandle: 'output', target: 'node', targetHandle: name })),
  }
  const body = JSON.stringify({ params: inputs })
  let id = ''
  return {
    async prepare(attacker) {
      id = await attacker.store(graph)
    },
    async strike(attacker) {
      const { text } = await attacker.expect(200, 'POST', `/api/workflows/${id}/run`, body)
      if (!text.includes('"status":"completed"')) throw new Error(text.slice(0, 500))
    },
  }
}

const keeping = (count: number) =>
  firing('vector.Index', {}, { vectors: listOf(count, longVector), metadata: listOf(count, () => METADATA) })

const kept: AttackOf = (share) => {
  const count = sized(300, share)
  return { name: `keeping ${count} long vectors`, ...keeping(count) }
}

/** No entry matches the filter. */
const searched: AttackOf = (share) => {
  const count = sized(300, share)
  const search = firing('vector.Search', { filter: { tags: 'none' } }, { vector: longVector(1) })
  return {
    name: `searches in ${count} long vectors`,
    side_by_side: 32,
    async prepare(attacker) {
      const filling = keeping(count)
      await filling.prepare?.(attacker)
      await filling.strike(attacker)
      await search.prepare?.(attacker)
    },
    strike: search.strike,
  }
}

export const vectors: readonly AttackOf[] = [kept, searched]
