// What the history of a job says already, or has said in what was removed of it, so that a run that goes on after an interruption tells nothing twice. Nodes have one event for each
// status; the values of one output come in the same order in every run.
import { toldNodes, toldOutputs } from '../db/job-events.ts'
import { trimmedNodes, trimmedOutputs } from '../db/job-trimming.ts'
import type { Store } from '../db/store.ts'

export class Told {
  readonly #nodes: ReadonlySet<string>
  readonly #outputs: Map<string, number>

  private constructor(nodes: ReadonlySet<string>, outputs: Map<string, number>) {
    this.#nodes = nodes
    this.#outputs = outputs
  }

  /** Of a job that has told nothing yet. */
  static nothing(): Told {
    return new Told(new Set(), new Map())
  }

  static of(store: Store, job_key: number): Told {
    const nodes = store.read((tx) => [...toldNodes(tx, job_key), ...trimmedNodes(tx, job_key)])
    const outputs = new Map<string, number>()
    for (const { output_name, count } of store.read((tx) => [
      ...toldOutputs(tx, job_key),
      ...trimmedOutputs(tx, job_key),
    ]))
      outputs.set(output_name, (outputs.get(output_name) ?? 0) + count)
    return new Told(new Set(nodes.map(({ node_id, status }) => nodeKey(node_id, status))), outputs)
  }

  /** Whether the history says that the node has this status. */
  node(node_id: string, status: string): boolean {
    return this.#nodes.size > 0 && this.#nodes.has(nodeKey(node_id, status))
  }

  /** Whether the history has the next value of an output; each is asked for once. */
  output(output_name: string): boolean {
    const left = this.#outputs.get(output_name) ?? 0
    if (left > 0) this.#outputs.set(output_name, left - 1)
    return left > 0
  }
}

function nodeKey(node_id: string, status: string): string {
  return `${status} ${node_id}`
}
