// The output side of one node in one run: sends each result as exactly one token per edge and path.
import type { Outputs } from './node-type.ts'
import type { PlanNode, PlanPort } from './plan-parts.ts'
import { type End, endOf, NOTHING } from './tokens.ts'

/** Hands a token to the node at the other end of an edge. */
export type Deliver = (node: number, slot: number, token: unknown) => void

export class Outbox {
  readonly #node: PlanNode
  readonly #deliver: Deliver

  constructor(node: PlanNode, deliver: Deliver) {
    this.#node = node
    this.#deliver = deliver
  }

  /** One item of the node's streams; a stream that it doesn't name gets nothing for it. */
  sendItem(item: Outputs): void {
    for (const port of this.#node.ports) if (port.stream) this.#send(port, tokenOf(item, port.name!))
  }

  /** The end of a firing: its single outputs, and the end of the streams it opened. Null: it was skipped. */
  sendOutputs(outputs: Outputs | null): void {
    for (const port of this.#node.ports) {
      if (port.stream) this.#send(port, endOf(this.#node.depth + 1, outputs === null))
      else if (outputs === null) this.#send(port, NOTHING)
      else this.#send(port, port.name === null ? true : tokenOf(outputs, port.name))
    }
  }

  /** The end of a stream around the node. */
  sendEnd(end: End): void {
    for (const port of this.#node.ports) this.#send(port, end)
  }

  #send(port: PlanPort, token: unknown): void {
    for (const target of port.targets) this.#deliver(target.node, target.slot, token)
  }
}

function tokenOf(values: Outputs, name: string): unknown {
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  return value === undefined ? NOTHING : value
}
