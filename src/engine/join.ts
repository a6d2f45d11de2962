// The input side of one node in one run: its inboxes, and the lock step in which they are read. Inputs of the full
// depth advance together; a shallower one is held and repeated until the stream that it encloses ends.
import { Inbox } from './inbox.ts'
import type { PlanNode } from './plan-parts.ts'
import { End } from './tokens.ts'

export interface JoinHost {
  /** How many tokens an inbox holds before its producer pauses. */
  readonly inboxLimit: number
  /** An inbox reached its limit, or went below it again. */
  filled(inbox: Inbox): void
  freed(inbox: Inbox): void
  /** A token went into an edge. `inbox` is null for an edge that carries a single value. */
  travelled(edge_id: string, inbox: Inbox | null, token: unknown): void
}

const ABSENT = Symbol('absent')

export class Join {
  readonly #node: PlanNode
  readonly #host: JoinHost
  /** One per slot; null for single values, which go straight into `#current`. */
  readonly #inboxes: (Inbox | null)[]
  /** The token of each slot for the present path. */
  #current: unknown[]
  /** Slots with neither a held nor a waiting token. */
  #absent: number

  constructor(node: PlanNode, host: JoinHost) {
    this.#node = node
    this.#host = host
    this.#inboxes = node.slots.map((slot) => (slot.depth === 0 ? null : new Inbox(slot, node.index, host.inboxLimit)))
    this.#current = node.slots.map(() => ABSENT)
    this.#absent = node.slots.length
  }

  /** True when every slot has a token, so that the node can read the next item or end. */
  get ready(): boolean {
    return this.#absent === 0
  }

  /** Takes a token in; true when this made the join ready. */
  receive(slot: number, token: unknown): boolean {
    const inbox = this.#inboxes[slot]!
    if (inbox === null) this.#current[slot] = token
    this.#host.travelled(this.#node.slots[slot]!.edge_id, inbox, token)
    if (inbox !== null) {
      const size = inbox.push(token)
      if (size === inbox.limit) this.#host.filled(inbox)
      if (size > 1 || this.#holds(slot)) return false
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
      const inbox = this.#inboxes[slot]!
      if (inbox === null) continue
      this.#current[slot] = this.#shift(inbox)
      if (inbox.size === 0) this.#absent++
    }
  }

  /** Makes the shallower inputs of the present path readable. */
  hold(): void {
    for (const slot of this.#node.held) {
      if (this.#current[slot] === ABSENT) this.#current[slot] = this.#shift(this.#inboxes[slot]!)
    }
  }

  /** The token of a slot for the present path: a value or nothing. */
  token(slot: number): unknown {
    return this.#current[slot]
  }

  /** Consumes an end mark everywhere: the streams it closes move past it, the values just outside of them are let go. */
  passEnd(level: number): void {
    for (const { index, depth } of this.#node.slots) {
      const inbox = this.#inboxes[index]!
      if (inbox === null || depth < level - 1) continue
      if (depth >= level || this.#current[index] === ABSENT) this.#shift(inbox)
      if (depth < this.#node.readDepth) this.#current[index] = ABSENT
      if (inbox.size === 0) this.#absent++
    }
  }

  /** Whether the join waits for this slot's source. */
  lacks(slot: number): boolean {
    const inbox = this.#inboxes[slot]!
    return inbox === null ? this.#current[slot] === ABSENT : inbox.size === 0 && !this.#holds(slot)
  }

  /** Lets go of all values; the node is closed. */
  clear(): void {
    this.#current = []
  }

  /** Whether a shallower slot has its value for the present path. */
  #holds(slot: number): boolean {
    return this.#node.slots[slot]!.depth < this.#node.readDepth && this.#current[slot] !== ABSENT
  }

  #shift(inbox: Inbox): unknown {
    const full = inbox.size === inbox.limit
    const token = inbox.shift()
    if (full) this.#host.freed(inbox)
    return token
  }
}
