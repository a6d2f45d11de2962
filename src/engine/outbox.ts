// The output side of one node in one run: sends each result as exactly one token per edge and path.
import type { Outputs } from './node-type.ts'
import type { PlanNode, PlanPort } from './plan-parts.ts'
import { type End, endOf, Failure, NOTHING } from './tokens.ts'

/** What a firing gave: its single outputs, the failure that stands for them, or null where it was skipped. */
export type Result = Outputs | Failure | null

/** Hands a token to the node at the other end of an edge. */
export type Deliver = (node: number, slot: number, token: unknown) => void

/** One item of a node's streams; a stream that it doesn't name gets nothing for it. */
export function sendItem(node: PlanNode, item: Outputs, deliver: Deliver): void {
  for (const port of node.ports) if (port.stream) send(port, tokenOf(item, port.name!), deliver)
}

/** The last item of a stream that ends with a failure. Edges that lead to no Catch get nothing. */
export function sendFailedItem({ ports }: PlanNode, failure: Failure, deliver: Deliver): void {
  for (const port of ports) if (port.stream) sendFailure(port, failure, deliver)
}

/** The end of a firing: its single outputs, and the end of the streams it opened. */
export function sendResult(node: PlanNode, result: Result, deliver: Deliver): void {
  for (const port of node.ports) {
    if (port.stream) send(port, endOf(node.depth + 1, result === null), deliver)
    else if (result instanceof Failure) sendFailure(port, result, deliver)
    else if (result === null) send(port, NOTHING, deliver)
    else send(port, port.name === null ? true : tokenOf(result, port.name), deliver)
  }
}

/** The end of a stream around the node. */
export function sendEnd(node: PlanNode, end: End, deliver: Deliver): void {
  for (const port of node.ports) send(port, end, deliver)
}

function sendFailure(port: PlanPort, failure: Failure, deliver: Deliver): void {
  for (const { node, slot, heeds } of port.targets) deliver(node, slot, heeds ? failure : NOTHING)
}

function send(port: PlanPort, token: unknown, deliver: Deliver): void {
  for (const target of port.targets) deliver(target.node, target.slot, token)
}

function tokenOf(values: Outputs, name: string): unknown {
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  return value === undefined ? NOTHING : value
}
