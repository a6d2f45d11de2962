// The inboxes of one node outside of its join: the streams of a stream operator, or the feedback of a loop.

import type { PlanNode } from '../../compile/plan.ts'
import type { RegionDemand } from './demand.ts'
import { Inbox } from './inbox.ts'
import { acceptToken, type InboxHost, takeToken, unsubscribe } from './inbox-flow-control.ts'
import { getStreamEnd } from './tokens.ts'

export class SideInputs {
  readonly #host: InboxHost
  readonly #region: RegionDemand | null
  readonly #bySlot = new Map<number, Inbox>()
  readonly inboxes: readonly Inbox[]

  /** `region`: the region that a node outside of it reads from here. */
  constructor(node: PlanNode, host: InboxHost, region: RegionDemand | null) {
    this.#host = host
    this.#region = region
    for (const slot of node.sideSlots)
      this.#bySlot.set(
        slot,
        new Inbox(node.slots[slot]!, node.index, host.inboxLimit, host.inboxWeight, host.memoryAccount),
      )
    this.inboxes = [...this.#bySlot.values()]
  }

  has(slot: number): boolean {
    return this.#bySlot.has(slot)
  }

  findByName(input: string): Inbox | undefined {
    return this.inboxes.find((inbox) => inbox.slot.name === input)
  }

  receive(slot: number, token: unknown): void {
    acceptToken(this.#host, this.#bySlot.get(slot)!, token)
  }

  /** Reports the end of all their edges. */
  reportEnd(): void {
    for (const inbox of this.inboxes) this.#host.onTokenSent(inbox.slot.edge_id, inbox, getStreamEnd(1, false))
  }

  /** Whether each inbox has a token. */
  get isReady(): boolean {
    return this.inboxes.every((inbox) => inbox.size > 0)
  }

  /** The nodes whose tokens are missing. */
  get missingSources(): number[] {
    return this.inboxes.filter((inbox) => inbox.size === 0).map((inbox) => inbox.slot.source)
  }

  take(inbox: Inbox): unknown {
    this.#region?.countRead()
    return takeToken(this.#host, inbox)
  }

  unsubscribe(inbox: Inbox, level: number): void {
    unsubscribe(this.#host, inbox, level)
  }

  unsubscribedLevel(slot: number): number {
    return this.#bySlot.get(slot)?.unsubscribedLevel ?? 0
  }
}
