// The inboxes of one node that stand apart from its join: the streams of a weave, what comes back to a loop.
import type { RegionDemand } from './demand.ts'
import { Inbox } from './inbox.ts'
import { accept, deafen, type InboxHost, takeFrom } from './intake.ts'
import type { PlanNode } from './plan-parts.ts'
import { endOf } from './tokens.ts'

export class Sides {
  readonly #host: InboxHost
  readonly #region: RegionDemand | null
  readonly #bySlot = new Map<number, Inbox>()
  readonly all: readonly Inbox[]

  /** `region`: the one that is read from here by a node that does not lie within it. */
  constructor(node: PlanNode, host: InboxHost, region: RegionDemand | null) {
    this.#host = host
    this.#region = region
    for (const slot of node.sides)
      this.#bySlot.set(slot, new Inbox(node.slots[slot]!, node.index, host.inboxLimit, host.inboxWeight, host.held))
    this.all = [...this.#bySlot.values()]
  }

  has(slot: number): boolean {
    return this.#bySlot.has(slot)
  }

  named(input: string): Inbox | undefined {
    return this.all.find((inbox) => inbox.slot.name === input)
  }

  receive(slot: number, token: unknown): void {
    accept(this.#host, this.#bySlot.get(slot)!, token)
  }

  /** Reports that no further value comes along any of their edges. */
  reportEnd(): void {
    for (const inbox of this.all) this.#host.travelled(inbox.slot.edge_id, inbox, endOf(1, false))
  }

  /** Whether each has a token. */
  get ready(): boolean {
    return this.all.every((inbox) => inbox.size > 0)
  }

  /** The nodes that owe a token. */
  get missing(): number[] {
    return this.all.filter((inbox) => inbox.size === 0).map((inbox) => inbox.slot.source)
  }

  take(inbox: Inbox): unknown {
    this.#region?.read()
    return takeFrom(this.#host, inbox)
  }

  deafen(inbox: Inbox, level: number): void {
    deafen(this.#host, inbox, level)
  }

  deafness(slot: number): number {
    return this.#bySlot.get(slot)?.deaf ?? 0
  }
}
