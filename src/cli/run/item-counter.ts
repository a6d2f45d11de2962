// How many items a node has given, told by what went along the edges around it: the engine tells of edges, not of firings.
import type { PlanNode } from '../../engine/compile/plan.ts'

/** Where a node's count comes from. */
type CountSource = 'nowhere' | 'published' | 'stream' | 'firings' | 'outputs' | 'input'

function countSourceOf({
  output,
  opensStream: streaming,
  depth,
  readDepth,
  ports,
  sideSlots: sides,
  slots,
}: PlanNode): CountSource {
  if (streaming) return 'stream'
  if (depth === 0) return 'nowhere'
  if (output) return 'published'
  const readsOneByOne = sides.length === 0 && readDepth === depth
  if (ports.length > 0) return readsOneByOne ? 'firings' : 'outputs'
  // Each value of a single input is one firing; of several inputs nobody knows which values met.
  return readsOneByOne && slots.length === 1 ? 'input' : 'nowhere'
}

/** The count of one node, kept up to date by what its edges and outputs tell. */
export class ItemCounter {
  readonly #node: PlanNode
  readonly #source: CountSource
  /** The most values that went along one edge, by port. */
  readonly #sentByPort: number[]
  #received = 0
  #published = 0

  constructor(node: PlanNode) {
    this.#node = node
    this.#source = countSourceOf(node)
    this.#sentByPort = node.ports.map(() => 0)
  }

  /** So many values have come along one of its edges. */
  recordReceived(count: number): void {
    this.#received = Math.max(this.#received, count)
  }

  /** So many values have gone along one edge of a port. */
  recordSent(port: number, count: number): void {
    this.#sentByPort[port] = Math.max(this.#sentByPort[port]!, count)
  }

  recordPublished(): void {
    this.#published++
  }

  /** Null for a node outside of streams, and where nobody can tell. */
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
  /** A branch gives on one of its outputs, others on all of them: together no more than there were firings. */
  firings({ ports }, { went, came }) {
    const signal = ports.findIndex(({ name }) => name === null)
    if (signal >= 0) return went[signal]!
    return Math.min(
      came,
      went.reduce((sum, count) => sum + count, 0),
    )
  },
}
