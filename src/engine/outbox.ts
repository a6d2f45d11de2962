// The output side of one node in one run: sends each result as exactly one token per edge and path.
import type { Outputs } from './node-type.ts'
import type { PlanNode, PlanPort } from './plan-parts.ts'
import { type End, endOf, Failure, NOTHING } from './tokens.ts'

/** What a firing gave: its single outputs, the failure that stands for them, or null where it was skipped. */
export type Result = Outputs | Failure | null

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

  /** The end of a firing: its single outputs, and the end of the streams it opened. */
  sendResult(result: Result): void {
    if (result instanceof Failure) {
      this.#sendFailure(result)
      return
    }
    for (const port of this.#node.ports) {
      if (port.stream) this.#send(port, endOf(this.#node.depth + 1, result === null))
      else if (result === null) this.#send(port, NOTHING)
      else this.#send(port, port.name === null ? true : tokenOf(result, port.name))
    }
  }

  /** The end of a stream around the node. */
  sendEnd(end: End): void {
    for (const port of this.#node.ports) this.#send(port, end)
  }

  /** A stream has the failure as its last item. Edges that lead to no Catch get nothing instead. */
  #sendFailure(failure: Failure): void {
    for (const port of this.#node.ports) {
      for (const { node, slot, heeds } of port.targets) this.#deliver(node, slot, heeds ? failure : NOTHING)
      if (port.stream) this.#send(port, endOf(this.#node.depth + 1, false))
    }
  }

  #send(port: PlanPort, token: unknown): void {
    for (const target of port.targets) this.#deliver(target.node, target.slot, token)
  }
}

function tokenOf(values: Outputs, name: string): unknown {
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  return value === undefined ? NOTHING : value
}
