// The inputs of one node in one run: its inboxes, and their reading in lock step. Inputs of the full depth advance together; a shallower
// one is held and repeated until the enclosed stream ends.

import type { PlanNode } from '../../compile/plan.ts'
import { estimateWeight } from '../run/memory-account.ts'
import { Inbox } from './inbox.ts'
import { acceptToken, type InboxHost, takeToken, unsubscribe } from './inbox-flow-control.ts'
import { StreamEndToken } from './tokens.ts'

const ABSENT_TOKEN = Symbol('absent')

/** The inboxes of a node whose inputs are all single values. */
const NO_INBOXES: (Inbox | null)[] = []

export class InputJoin {
  readonly #node: PlanNode
  readonly #host: InboxHost
  /** By slot; null or absent for single values, which are stored in `#current`. */
  readonly #inboxes: (Inbox | null)[]
  /** The token of each slot at the current path. */
  #current: unknown[]
  /** The number of slots with neither a held nor a waiting token. */
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

  /** True if every slot has a token, so that the next item or end can be read. */
  get isReady(): boolean {
    return this.#missingCount === 0
  }

  /** Receives a token; true if this made the join ready. */
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

  /** The next end mark, or null if an item comes next. Valid only when ready. */
  nextEnd(): StreamEndToken | null {
    const driver = this.#node.driverSlots[0]
    if (driver === undefined) return null
    const head = this.#inboxes[driver]?.peek()
    return head instanceof StreamEndToken ? head : null
  }

  /** Reads the next item of the deepest streams. Valid only when ready and no end comes next. */
  advance(): void {
    this.holdOuterInputs()
    for (const slot of this.#node.driverSlots) {
      const inbox = this.#inboxes[slot] ?? null
      if (inbox === null) continue
      this.#current[slot] = takeToken(this.#host, inbox)
      if (inbox.size === 0) this.#missingCount++
    }
  }

  /** Reads the shallower inputs of the current path. */
  holdOuterInputs(): void {
    for (const slot of this.#node.heldSlots) {
      if (this.#current[slot] === ABSENT_TOKEN) this.#current[slot] = takeToken(this.#host, this.#inboxes[slot]!)
    }
  }

  /** The token of a slot at the current path: a value, a failure or `NO_VALUE`. */
  tokenOf(slot: number): unknown {
    return this.#current[slot]
  }

  /** Reads an end mark from all inboxes: closed streams move past it, and values just outside of them are released. */
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

  /** Drops everything before the end of the stream of a level. */
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

  /** The level up to which a slot is unsubscribed, or 0. */
  unsubscribedLevel(slot: number): number {
    return this.#inboxes[slot]?.unsubscribedLevel ?? 0
  }

  /** Whether the join waits for this slot's source. */
  isMissing(slot: number): boolean {
    const inbox = this.#inboxes[slot] ?? null
    return inbox === null ? this.#current[slot] === ABSENT_TOKEN : inbox.size === 0 && !this.#hasOuterInput(slot)
  }

  /** Releases all values when the node is closed. */
  clear(): void {
    for (const [slot, token] of this.#current.entries()) {
      const weight = (this.#inboxes[slot] ?? null) === null ? estimateWeight(token) : 0
      if (weight > 0) this.#host.memoryAccount.remove(token, weight)
    }
    this.#current = []
  }

  /** Whether a shallower slot has its value at the current path. */
  #hasOuterInput(slot: number): boolean {
    return this.#node.slots[slot]!.depth < this.#node.readDepth && this.#current[slot] !== ABSENT_TOKEN
  }
}
