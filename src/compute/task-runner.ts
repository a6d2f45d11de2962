// The worker's side: runs firings one after the other with the code of the built-in node types.
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import type { NodeContext } from '../engine/node-api/node-context.ts'
import { NodeError, NonRetryableError } from '../engine/node-api/node-error.ts'
import { splitValue, ValueAssembler, type ValueFragment } from '../engine/node-api/values/fragments.ts'
import { findExcess, MAX_VALUE_SIZE } from '../engine/node-api/values/value-excess.ts'
import { builtinRegistry } from '../nodes/registry.ts'
import type { ComputeError, ExcessOutput, FromComputeWorker, ToComputeWorker } from './worker-protocol.ts'

type Values = Record<string, unknown>

const { pieces } = workerData as { pieces: MessagePort }

function post(message: FromComputeWorker): void {
  parentPort!.postMessage(message)
}

/** Pure node types do not use their context. */
const NO_CONTEXT = undefined as unknown as NodeContext

function runNodeType(node_type: string, inputs: Values): Values {
  const outputs = builtinRegistry.get(node_type)!.run!(inputs, NO_CONTEXT)
  if (outputs instanceof Promise) throw new Error(`${node_type} returned a promise`)
  return outputs as Values
}

/** Removes outputs that are too deep or too large: such values cannot be sent, and no node could read them. */
function removeExcess(outputs: Values): ExcessOutput[] {
  const excessOutputs: ExcessOutput[] = []
  for (const [handle, value] of Object.entries(outputs)) {
    const excess = findExcess(value, MAX_VALUE_SIZE)
    if (!excess) continue
    excessOutputs.push({ handle, excess, kind: Array.isArray(value) ? 'list' : 'dict' })
    outputs[handle] = null
  }
  return excessOutputs
}

function sendOutputs(outputs: Values): void {
  const excess = removeExcess(outputs)
  let last: ValueFragment | null = null
  for (const ops of splitValue(outputs)) {
    if (last) pieces.postMessage(last)
    last = ops
  }
  post({ kind: 'done', ops: last!, excess })
}

function toComputeError(error: unknown): ComputeError {
  const final = error instanceof NonRetryableError
  if (error instanceof NodeError) {
    const detail = error.cause === undefined ? '' : String(error.cause)
    return { type: error.type, final, message: error.message, detail }
  }
  const { message, stack } = error instanceof Error ? error : new Error(String(error))
  return { type: null, final, message, detail: stack ?? message }
}

let assembly = new ValueAssembler()

function receive(message: ToComputeWorker): void {
  assembly.add(message.ops)
  if (message.kind === 'piece') return
  const inputs = assembly.value as Values
  assembly = new ValueAssembler()
  try {
    sendOutputs(runNodeType(message.node_type, inputs))
  } catch (error) {
    post({ kind: 'failed', error: toComputeError(error) })
  }
}

/** `thread` is the operating system's id of this thread; null: unknown. */
export function serve(thread: number | null): void {
  parentPort!.on('message', receive)
  post({ kind: 'ready', thread })
}
