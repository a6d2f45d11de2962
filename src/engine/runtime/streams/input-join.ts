// The input side of one node in one run: its inboxes, and the lock step in which they are read. Inputs of the full
// depth advance together; a shallower one is held and repeated until the stream that it encloses ends.

import type { PlanNode } from '../../compile/plan.ts'
import { estimateWeight } from '../run/memory-account.ts'
import { Inbox } from './inbox.ts'
import { acceptToken, type InboxHost, takeToken, unsubscribe } from './inbox-flow-control.ts'
import { StreamEndToken } from './tokens.ts'

const ABSENT_TOKEN = Symbol('absent')

/** The inboxes of a node all of whose inputs are single values. */
const NO_INBOXES: (Inbox | null)[] = []

export class InputJoin {
  readonly #node: PlanNode
  readonly #host: InboxHost
  /** By slot; null or absent for single values, which go straight into `#current`. */
  readonly #inboxes: (Inbox | null)[]
  /** The token of each slot for the present path. */
  #current: unknown[]
  /** Slots with neither a held nor a waiting token. */
  #missingCount: number

  constructor(node: PlanNode, host: InboxHost) {
    this.#node = node
    this.#host = host
    this.#inboxes = node.hasOnlySingleInputs
      ? NO_INBOXES
      : node.slots.map((slot) =>
          slot.depth === 0 ? null : new Inbox(slot, node.index, host.inboxLimit, host.inboxWeight, host.memoryAccount),
        )
    this.#current = new Array(node.slots.length).fill(ABSENT_TOKEN)
    this.#missingCount = node.joinedSlots.length
  }

  /** True when every slot has a token, so that the node can read the next item or end. */
  get isReady(): boolean {
    return this.#missingCount === 0
  }

  /** Takes a token in; true when this made the join ready. */
  receive(slot: number, token: unknown): boolean {
    const inbox = this.#inboxes[slot] ?? null
    if (inbox === null) {
      this.#current[slot] = token
      const weight = estimateWeight(token)
      if (weight > 0) this.#host.memoryAccount.add(token, weight)
      this.#host.onTokenSent(this.#node.slots[slot]!.edge_id, null, token)
    } else {
      const size = acceptToken(this.#host, inbox, token)
      if (size !== 1 || this.#hasOuterInput(slot)) return false
    }
    return --this.#missingCount === 0
  }

  /** The end mark that comes next, or null where an item does. Only when ready. */
  nextEnd(): StreamEndToken | null {
    const driver = this.#node.driverSlots[0]
    if (driver === undefined) return null
    const head = this.#inboxes[driver]?.peek()
    return head instanceof StreamEndToken ? head : null
  }

  /** Moves on to the next item of the deepest streams. Only when ready and no end comes next. */
  advance(): void {
    this.holdOuterInputs()
    for (const slot of this.#node.driverSlots) {
      const inbox = this.#inboxes[slot] ?? null
      if (inbox === null) continue
      this.#current[slot] = takeToken(this.#host, inbox)
      if (inbox.size === 0) this.#missingCount++
    }
  }

  /** Makes the shallower inputs of the present path readable. */
  holdOuterInputs(): void {
    for (const slot of this.#node.heldSlots) {
      if (this.#current[slot] === ABSENT_TOKEN) this.#current[slot] = takeToken(this.#host, this.#inboxes[slot]!)
    }
  }

  /** The token of a slot for the present path: a value, a failure or nothing. */
  tokenOf(slot: number): unknown {
    return this.#current[slot]
  }

  /** Consumes an end mark everywhere: the streams it closes move past it, the values just outside of them are let go. */
  passEnd(level: number): void {
    for (const slot of this.#node.joinedSlots) {
      const inbox = this.#inboxes[slot] ?? null
      const { depth } = this.#node.slots[slot]!
      if (inbox === null || depth < level - 1) continue
      if (depth >= level || this.#current[slot] === ABSENT_TOKEN) takeToken(this.#host, inbox)
      if (depth < this.#node.readDepth) this.#current[slot] = ABSENT_TOKEN
      if (inbox.size === 0) this.#missingCount++
    }
  }

  /** Drops whatever comes before the end of the stream of a level. */
  unsubscribe(level: number): void {
    this.#missingCount = 0
    for (const slot of this.#node.joinedSlots) {
      const inbox = this.#inboxes[slot] ?? null
      if (inbox !== null && inbox.slot.depth >= level) {
        if (inbox.slot.depth < this.#node.readDepth) this.#current[slot] = ABSENT_TOKEN
        unsubscribe(this.#host, inbox, level)
      }
      if (this.isMissing(slot)) this.#missingCount++
    }
  }

  /** The level up to which a slot is deaf, or 0. */
  unsubscribedLevel(slot: number): number {
    return this.#inboxes[slot]?.unsubscribedLevel ?? 0
  }

  /** Whether the join waits for this slot's source. */
  isMissing(slot: number): boolean {
    const inbox = this.#inboxes[slot] ?? null
    return inbox === null ? this.#current[slot] === ABSENT_TOKEN : inbox.size === 0 && !this.#hasOuterInput(slot)
  }

  /** Lets go of all values; the node is closed. */
  clear(): void {
    for (const [slot, token] of this.#current.entries()) {
      const weight = (this.#inboxes[slot] ?? null) === null ? estimateWeight(token) : 0
      if (weight > 0) this.#host.memoryAccount.remove(token, weight)
    }
    this.#current = []
  }

  /** Whether a shallower slot has its value for the present path. */
  #hasOuterInput(slot: number): boolean {
    return this.#node.slots[slot]!.depth < this.#node.readDepth && this.#current[slot] !== ABSENT_TOKEN
  }
}
