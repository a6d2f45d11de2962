// Counts the items that a node has produced, by the values on the edges around it: the engine reports edges, not firings.
import type { PlanNode } from '../../engine/compile/plan.ts'

/** The source of a node's count. */
type CountSource = 'nowhere' | 'published' | 'stream' | 'firings' | 'outputs' | 'input'

function countSourceOf({ output, opensStream, depth, readDepth, ports, sideSlots, slots }: PlanNode): CountSource {
  if (opensStream) return 'stream'
  if (depth === 0) return 'nowhere'
  if (output) return 'published'
  const readsOneByOne = sideSlots.length === 0 && readDepth === depth
  if (ports.length > 0) return readsOneByOne ? 'firings' : 'outputs'
  // Each value of a single input is one firing; with several inputs, the firings cannot be told from the values.
  return readsOneByOne && slots.length === 1 ? 'input' : 'nowhere'
}

/** The count of one node, updated by its edges and outputs. */
export class ItemCounter {
  readonly #node: PlanNode
  readonly #source: CountSource
  /** The highest number of values that an edge has carried, by port. */
  readonly #sentByPort: number[]
  #received = 0
  #published = 0

  constructor(node: PlanNode) {
    this.#node = node
    this.#source = countSourceOf(node)
    this.#sentByPort = node.ports.map(() => 0)
  }

  /** An incoming edge has carried `count` values. */
  recordReceived(count: number): void {
    this.#received = Math.max(this.#received, count)
  }

  /** An edge of a port has carried `count` values. */
  recordSent(port: number, count: number): void {
    this.#sentByPort[port] = Math.max(this.#sentByPort[port]!, count)
  }

  recordPublished(): void {
    this.#published++
  }

  /** Null for a node outside of streams, or if the count is unknown. */
  get items(): number | null {
    return COUNTS[this.#source](this.#node, {
      went: this.#sentByPort,
      came: this.#received,
      published: this.#published,
    })
  }
}

interface ObservedCounts {
  readonly went: readonly number[]
  readonly came: number
  readonly published: number
}

const COUNTS: Readonly<Record<CountSource, (node: PlanNode, seen: ObservedCounts) => number | null>> = {
  nowhere: () => null,
  published: (_node, { published }) => published,
  input: (_node, { came }) => came,
  outputs: (_node, { went }) => Math.max(...went),
  stream({ ports }, { went }) {
    const streams = went.filter((_count, port) => ports[port]!.stream)
    return streams.length === 0 ? null : Math.max(...streams)
  },
  /** A branch produces on one of its outputs, other nodes on all of them: together at most as many items as firings. */
  firings({ ports }, { went, came }) {
    const signal = ports.findIndex(({ name }) => name === null)
    if (signal >= 0) return went[signal]!
    return Math.min(
      came,
      went.reduce((sum, count) => sum + count, 0),
    )
  },
}
