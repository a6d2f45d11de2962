// The worker's side: runs one firing after the other with the code of the built-in node types.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import { excessOf, LARGEST_VALUE } from '../engine/measure.ts'
import { Final, NodeError } from '../engine/node-error.ts'
import type { NodeContext } from '../engine/node-type.ts'
import { Assembly, type Ops, piecesOf } from '../engine/pieces.ts'
import { builtinNodes } from '../nodes/registry.ts'
import type { Excess, FromWorker, ThrownError, ToWorker } from './protocol.ts'

type Values = Record<string, unknown>

const { pieces } = workerData as { pieces: MessagePort }

function post(message: FromWorker): void {
  parentPort!.postMessage(message)
}

/** Pure types take nothing of it. */
const NO_CONTEXT = undefined as unknown as NodeContext

function outputsOf(node_type: string, inputs: Values): Values {
  const given = builtinNodes.get(node_type)!.run!(inputs, NO_CONTEXT)
  if (given instanceof Promise) throw new Error(`${node_type} gave a promise`)
  return given as Values
}

/** Takes what is too deep or too large out: it could not be sent, and nobody could take it. */
function withoutExcess(outputs: Values): Excess[] {
  const found: Excess[] = []
  for (const [handle, value] of Object.entries(outputs)) {
    const excess = excessOf(value, LARGEST_VALUE)
    if (!excess) continue
    found.push({ handle, excess, kind: Array.isArray(value) ? 'list' : 'dict' })
    outputs[handle] = null
  }
  return found
}

function send(outputs: Values): void {
  const excess = withoutExcess(outputs)
  let last: Ops | null = null
  for (const ops of piecesOf(outputs)) {
    if (last) pieces.postMessage(last)
    last = ops
  }
  post({ kind: 'done', ops: last!, excess })
}

function errorOf(error: unknown): ThrownError {
  const final = error instanceof Final
  if (error instanceof NodeError) {
    const detail = error.cause === undefined ? '' : String(error.cause)
    return { type: error.type, final, message: error.message, detail }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { type: null, final, message, detail: stack ?? message }
}

let assembly = new Assembly()

function take(message: ToWorker): void {
  assembly.add(message.ops)
  if (message.kind === 'piece') return
  const inputs = assembly.value as Values
  assembly = new Assembly()
  try {
    send(outputsOf(message.node_type, inputs))
  } catch (error) {
    post({ kind: 'failed', error: errorOf(error) })
  }
}

/** `thread` is the id of this thread, as the system knows it; null: unknown. */
export function serve(thread: number | null): void {
  parentPort!.on('message', take)
  post({ kind: 'ready', thread })
}
