// Runs one node by itself, through the compiler and the engine, as a graph would.

import { compileGraph } from '../../src/engine/compile/compiler.ts'
import type { OutputValues } from '../../src/engine/node-api/firing-forms.ts'
import { executePlan } from '../../src/engine/runtime/execution.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { Recorder } from '../engine/kit.ts'

/** The outputs of one firing. Rejects with the message of the first issue or of the error. */
export async function fire(
  type: string,
  data: Record<string, unknown> = {},
  dynamic: Record<string, unknown> = {},
): Promise<OutputValues> {
  const node = { id: 'n', type, data, dynamic_properties: dynamic }
  const { plan, issues } = compileGraph({ nodes: [node], edges: [] }, builtinRegistry)
  if (!plan) throw new Error(`${issues[0]!.code}: ${issues[0]!.message}`)
  const observer = new Recorder()
  const outcome = await executePlan(plan, { params: {}, signal: new AbortController().signal, observer }).done
  if (outcome.status === 'failed') throw new Error(`${outcome.error.type}: ${outcome.error.message}`)
  const detail = observer.calls.find((call) => call[0] === 'node' && call[2] === 'completed')?.[3]
  return (detail as { result: OutputValues }).result
}

/** The `output` of one firing. */
export async function outputOf(
  type: string,
  data: Record<string, unknown> = {},
  dynamic: Record<string, unknown> = {},
): Promise<unknown> {
  return (await fire(type, data, dynamic)).output
}
