// Finds the inbox to enlarge when a graph blocks itself: a producer waits for room at a consumer that waits, over some path, for that
// producer (for example, a stream joined with its own Collect). By Parks' rule the smallest full inbox grows, so a bounded run stays
// bounded if possible.

import type { NodeExecutors } from '../run/node-executors.ts'
import type { Inbox } from './inbox.ts'

type NodeVerdict = 'open' | 'live' | 'stuck'

/** Classifies nodes by what they wait for: a node that waits for itself, even indirectly, is stuck. */
class DeadlockSearch {
  readonly #executors: NodeExecutors
  readonly #consumers: ReadonlyMap<number, number[]>
  readonly #verdicts = new Map<number, NodeVerdict>()

  constructor(executors: NodeExecutors, consumers: ReadonlyMap<number, number[]>) {
    this.#executors = executors
    this.#consumers = consumers
  }

  isStuck(start: number): boolean {
    const path: { node: number; waits: number[] }[] = []
    const enter = (node: number) => {
      this.#verdicts.set(node, 'open')
      path.push({ node, waits: this.#waitsFor(node) })
    }
    if (!this.#verdicts.has(start)) enter(start)
    for (let top = path.at(-1); top; top = path.at(-1)) {
      const next = top.waits.pop()
      if (next === undefined) {
        this.#verdicts.set(top.node, 'live')
        path.pop()
        continue
      }
      const verdict = this.#verdicts.get(next)
      if (verdict === undefined) enter(next)
      else if (verdict !== 'live') {
        for (const { node } of path) this.#verdicts.set(node, 'stuck')
        path.length = 0
      }
    }
    return this.#verdicts.get(start) === 'stuck'
  }

  #waitsFor(node: number): number[] {
    const executor = this.#executors.of(node)
    const { obstacle, bound } = executor
    if (obstacle === 'sources') return executor.missingSources
    if (obstacle !== 'consumers') return []
    // A stream at its limit waits for the stream operators that read out of its region.
    return [...(this.#consumers.get(node) ?? []), ...(bound?.closed ? bound.readers : [])]
  }
}

/** The smallest full inbox whose producer is stuck, or null if all waiting nodes will be served. */
export function findInboxToGrow(executors: NodeExecutors, full: ReadonlySet<Inbox>): Inbox | null {
  const consumers = new Map<number, number[]>()
  for (const inbox of full) {
    const list = consumers.get(inbox.slot.source)
    if (list) list.push(inbox.consumer)
    else consumers.set(inbox.slot.source, [inbox.consumer])
  }
  const search = new DeadlockSearch(executors, consumers)
  let smallest: Inbox | null = null
  for (const inbox of full) {
    if ((smallest === null || inbox.limit < smallest.limit) && search.isStuck(inbox.slot.source)) smallest = inbox
  }
  return smallest
}
