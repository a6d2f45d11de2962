// Parts of the crash run's graphs: calls of the witness, and their edges.
import type { Graph, GraphEdge, GraphNode } from '../../src/engine/compile/graph.ts'
import { edge, node, sink } from '../engine/kit.ts'
import type { Method } from './counter.ts'

export interface Part {
  readonly nodes: readonly GraphNode[]
  readonly edges: readonly (string | GraphEdge)[]
}

/** The witness's URL with the job's label: `http://127.0.0.1:port/label`. */
export const AT: Part = { nodes: [node('at', 'input.String', { name: 'at' })], edges: [] }

/** A call under the node's name. `index` is the output for the last part of its path. Absent: 0. */
export function call(id: string, method: Method, index: string | null = null, more: object = {}): Part {
  const template = `{{at}}/${id}/${index === null ? '0' : '{{index}}'}`
  return {
    nodes: [
      node(`${id}_url`, 'text.Template', { template }),
      node(id, 'http.Request', { method, response_type: 'text', ...more }),
    ],
    edges: [
      `at.output->${id}_url.at`,
      `${id}_url.output->${id}.url`,
      ...(index === null ? [] : [`${index}->${id}_url.index`]),
    ],
  }
}

/** An output of the job with the value of `from`. */
export function out(name: string, from: string): Part {
  return { nodes: [sink(name)], edges: [`${from}->${name}.value`] }
}

export function of(nodes: readonly GraphNode[], edges: readonly (string | GraphEdge)[] = []): Part {
  return { nodes, edges }
}

export function joined(...parts: readonly Part[]): Graph {
  return {
    nodes: parts.flatMap(({ nodes }) => nodes),
    edges: parts.flatMap(({ edges }) => edges.map((one) => (typeof one === 'string' ? edge(one) : one))),
  }
}
