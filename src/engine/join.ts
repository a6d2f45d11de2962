// The input side of one node in one run: its inboxes, and the lock step in which they are read. Inputs of the full
// depth advance together; a shallower one is held and repeated until the stream that it encloses ends.
import { weightOf } from './held-values.ts'
import { Inbox } from './inbox.ts'
import { accept, deafen, type InboxHost, takeFrom } from './intake.ts'
import type { PlanNode } from './plan-parts.ts'
import { End } from './tokens.ts'

const ABSENT = Symbol('absent')

/** The inboxes of a node all of whose inputs are single values. */
const NONE: (Inbox | null)[] = []

export class Join {
  readonly #node: PlanNode
  readonly #host: InboxHost
  /** By slot; null or absent for single values, which go straight into `#current`. */
  readonly #inboxes: (Inbox | null)[]
  /** The token of each slot for the present path. */
  #current: unknown[]
  /** Slots with neither a held nor a waiting token. */
  #absent: number

  constructor(node: PlanNode, host: InboxHost) {
    this.#node = node
    this.#host = host
    this.#inboxes = node.flat
      ? NONE
      : node.slots.map((slot) =>
          slot.depth === 0 ? null : new Inbox(slot, node.index, host.inboxLimit, host.inboxWeight, host.held),
        )
    this.#current = new Array(node.slots.length).fill(ABSENT)
    this.#absent = node.joined.length
  }

  /** True when every slot has a token, so that the node can read the next item or end. */
  get ready(): boolean {
    return this.#absent === 0
  }

  /** Takes a token in; true when this made the join ready. */
  receive(slot: number, token: unknown): boolean {
    const inbox = this.#inboxes[slot] ?? null
    if (inbox === null) {
      this.#current[slot] = token
      const weight = weightOf(token)
      if (weight > 0) this.#host.held.add(token, weight)
      this.#host.travelled(this.#node.slots[slot]!.edge_id, null, token)
    } else {
      const size = accept(this.#host, inbox, token)
      if (size !== 1 || this.#holds(slot)) return false
    }
    return --this.#absent === 0
  }

  /** The end mark that comes next, or null where an item does. Only when ready. */
  nextEnd(): End | null {
    const driver = this.#node.drivers[0]
    if (driver === undefined) return null
    const head = this.#inboxes[driver]?.peek()
    return head instanceof End ? head : null
  }

  /** Moves on to the next item of the deepest streams. Only when ready and no end comes next. */
  advance(): void {
    this.hold()
    for (const slot of this.#node.drivers) {
      const inbox = this.#inboxes[slot] ?? null
      if (inbox === null) continue
      this.#current[slot] = takeFrom(this.#host, inbox)
      if (inbox.size === 0) this.#absent++
    }
  }

  /** Makes the shallower inputs of the present path readable. */
  hold(): void {
    for (const slot of this.#node.held) {
      if (this.#current[slot] === ABSENT) this.#current[slot] = takeFrom(this.#host, this.#inboxes[slot]!)
    }
  }

  /** The token of a slot for the present path: a value, a failure or nothing. */
  token(slot: number): unknown {
    return this.#current[slot]
  }

  /** Consumes an end mark everywhere: the streams it closes move past it, the values just outside of them are let go. */
  passEnd(level: number): void {
    for (const slot of this.#node.joined) {
      const inbox = this.#inboxes[slot] ?? null
      const { depth } = this.#node.slots[slot]!
      if (inbox === null || depth < level - 1) continue
      if (depth >= level || this.#current[slot] === ABSENT) takeFrom(this.#host, inbox)
      if (depth < this.#node.readDepth) this.#current[slot] = ABSENT
      if (inbox.size === 0) this.#absent++
    }
  }

  /** Drops whatever comes before the end of the stream of a level. */
  deafen(level: number): void {
    this.#absent = 0
    for (const slot of this.#node.joined) {
      const inbox = this.#inboxes[slot] ?? null
      if (inbox !== null && inbox.slot.depth >= level) {
        if (inbox.slot.depth < this.#node.readDepth) this.#current[slot] = ABSENT
        deafen(this.#host, inbox, level)
      }
      if (this.lacks(slot)) this.#absent++
    }
  }

  /** The level up to which a slot is deaf, or 0. */
  deafness(slot: number): number {
    return this.#inboxes[slot]?.deaf ?? 0
  }

  /** Whether the join waits for this slot's source. */
  lacks(slot: number): boolean {
    const inbox = this.#inboxes[slot] ?? null
    return inbox === null ? this.#current[slot] === ABSENT : inbox.size === 0 && !this.#holds(slot)
  }

  /** Lets go of all values; the node is closed. */
  clear(): void {
    for (const [slot, token] of this.#current.entries()) {
      const weight = (this.#inboxes[slot] ?? null) === null ? weightOf(token) : 0
      if (weight > 0) this.#host.held.remove(token, weight)
    }
    this.#current = []
  }

  /** Whether a shallower slot has its value for the present path. */
  #holds(slot: number): boolean {
    return this.#node.slots[slot]!.depth < this.#node.readDepth && this.#current[slot] !== ABSENT
  }
}
