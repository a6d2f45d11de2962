// The node statuses and output values that a job has published, trimmed events included, so that a continued run publishes nothing twice. A node has one
// event for each status. The values of one output come in the same order in every run.
import { countOutputValues, findScanEnd, listJobEventsBetween, listNodeStatuses } from '../../db/jobs/events.ts'
import {
  countTrimmedOutputValues,
  listTrimmedNodeStatuses,
  listTrimmedNodeStatusesAfter,
} from '../../db/jobs/history-trimming.ts'
import type { Store } from '../../db/store.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'

/** The payload has the name of the output before its value, which may be large. */
const OUTPUT_NAME_PREFIX = /^\{"output_name":("(?:[^"\\]|\\.)*")/

/** One step reads at most this many nodes. */
const TRIMMED_AT_ONCE = 256

export class PublishedHistory {
  readonly #nodes: ReadonlySet<string>
  readonly #outputs: Map<string, number>

  private constructor(nodes: ReadonlySet<string>, outputs: Map<string, number>) {
    this.#nodes = nodes
    this.#outputs = outputs
  }

  /** The history of a job that has published nothing yet. */
  static createEmpty(): PublishedHistory {
    return new PublishedHistory(new Set(), new Map())
  }

  static load(store: Store, job_key: number): PublishedHistory {
    const nodes = store.read((tx) => [...listNodeStatuses(tx, job_key), ...listTrimmedNodeStatuses(tx, job_key)])
    const outputs = store.read((tx) => [...countOutputValues(tx, job_key), ...countTrimmedOutputValues(tx, job_key)])
    return new PublishedHistory(
      new Set(nodes.map(({ node_id, status }) => nodeKey(node_id, status))),
      countOutputs(outputs),
    )
  }

  /** `load` in steps, for a job that is not running. @throws DATA_DAMAGED where an event is damaged */
  static *loadSteps(store: Store, job_key: number): Steps<PublishedHistory> {
    const nodes = new Set<string>()
    const outputs = store.read((tx) => countTrimmedOutputValues(tx, job_key))
    yield* forEachTrimmedNode(store, job_key, ({ node_id, status }) => nodes.add(nodeKey(node_id, status)))
    yield* forEachEvent(store, job_key, 'node_status', (payload) => {
      const { node_id, status } = JSON.parse(payload) as { node_id: string; status: string }
      nodes.add(nodeKey(node_id, status))
    })
    yield* forEachEvent(store, job_key, 'output_update', (payload) => {
      outputs.push({ output_name: parseOutputName(payload), count: 1 })
    })
    return new PublishedHistory(nodes, countOutputs(outputs))
  }

  /** Whether the history has an event with this status of the node. */
  hasNodeStatus(node_id: string, status: string): boolean {
    return this.#nodes.size > 0 && this.#nodes.has(nodeKey(node_id, status))
  }

  /** Whether the history has the next value of an output. Each call consumes one value. */
  takeOutput(output_name: string): boolean {
    const left = this.#outputs.get(output_name) ?? 0
    if (left > 0) this.#outputs.set(output_name, left - 1)
    return left > 0
  }
}

function countOutputs(
  outputs: readonly { readonly output_name: string; readonly count: number }[],
): Map<string, number> {
  const counts = new Map<string, number>()
  for (const { output_name, count } of outputs) counts.set(output_name, (counts.get(output_name) ?? 0) + count)
  return counts
}

function nodeKey(node_id: string, status: string): string {
  return `${status} ${node_id}`
}

function parseOutputName(payload: string): string {
  const found = OUTPUT_NAME_PREFIX.exec(payload)
  if (found) return JSON.parse(found[1]!) as string
  return (JSON.parse(payload) as { output_name: string }).output_name
}

function* forEachTrimmedNode(
  store: Store,
  job_key: number,
  each: (node: { readonly node_id: string; readonly status: string }) => void,
): Steps<void> {
  for (let last = { node_id: '', status: '' }; ; yield) {
    const some = store.read((tx) => listTrimmedNodeStatusesAfter(tx, job_key, last, TRIMMED_AT_ONCE))
    if (some.length === 0) return
    for (const node of some) each(node)
    last = some.at(-1)!
  }
}

function* forEachEvent(store: Store, job_key: number, type: string, each: (payload: string) => void): Steps<void> {
  for (let after = 0; ; yield) {
    const to = store.read((tx) => findScanEnd(tx, job_key, after))
    if (to === null) return
    yield
    const some = store.read((tx) => listJobEventsBetween(tx, job_key, type, after, to))
    yield* forEachSteps(some, ({ payload }) => each(payload))
    after = to
  }
}
