// The outputs of one node in one run: sends each result as exactly one token per edge and path.

import type { PlanNode, PlanPort } from '../../compile/plan.ts'
import type { OutputValues } from '../../node-api/firing-forms.ts'
import { FailureToken, getStreamEnd, NO_VALUE, type StreamEndToken } from './tokens.ts'

/** The result of a firing: its single outputs, a failure instead of them, or null if it was skipped. */
export type FiringResult = OutputValues | FailureToken | null

/** Delivers a token to the node at the other end of an edge. */
export type DeliverToken = (node: number, slot: number, token: unknown) => void

/** Sends one item of a node's streams; streams that it does not name get `NO_VALUE`. */
export function sendItem(node: PlanNode, item: OutputValues, deliver: DeliverToken): void {
  for (const port of node.ports) if (port.stream) sendToken(port, readToken(item, port.name!), deliver)
}

/** Sends the last item of a stream that ends with a failure. Edges that lead to no Catch get `NO_VALUE`. */
export function sendFailedItem({ ports }: PlanNode, failure: FailureToken, deliver: DeliverToken): void {
  for (const port of ports) if (port.stream) sendFailure(port, failure, deliver)
}

/** Sends the end of a firing: its single outputs, and the end of the streams it opened. */
export function sendResult(node: PlanNode, result: FiringResult, deliver: DeliverToken): void {
  for (const port of node.ports) {
    if (port.stream) sendToken(port, getStreamEnd(node.depth + 1, result === null), deliver)
    else if (result instanceof FailureToken) sendFailure(port, result, deliver)
    else if (result === null) sendToken(port, NO_VALUE, deliver)
    else sendToken(port, port.name === null ? true : readToken(result, port.name), deliver)
  }
}

/** Sends the end of a stream around the node. */
export function sendEnd(node: PlanNode, end: StreamEndToken, deliver: DeliverToken): void {
  for (const port of node.ports) sendToken(port, end, deliver)
}

function sendFailure(port: PlanPort, failure: FailureToken, deliver: DeliverToken): void {
  for (const { node, slot, passesFailures } of port.targets) deliver(node, slot, passesFailures ? failure : NO_VALUE)
}

function sendToken(port: PlanPort, token: unknown, deliver: DeliverToken): void {
  for (const target of port.targets) deliver(target.node, target.slot, token)
}

function readToken(values: OutputValues, name: string): unknown {
  const value = Object.hasOwn(values, name) ? values[name] : undefined
  return value === undefined ? NO_VALUE : value
}
