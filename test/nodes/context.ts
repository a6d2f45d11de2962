// A node context for tests that call nodes without a run.

import type { InputValues, NodeRunResult } from '../../src/engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../src/engine/node-api/node-context.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'

export const context: NodeContext = {
  node_id: 'n',
  outputs: new Map(),
  hasStreamOutput: false,
  isConnected: () => false,
  canWait: false,
  run: {},
  signal: new AbortController().signal,
  clock: { now: () => 0, sleep: async () => {} },
  inSlices: async (steps) => runToCompletion(steps),
  hold: () => {},
  random: () => 0,
  services: noServices,
  log: () => {},
  progress: () => {},
  chunk: () => {},
  tool: () => {},
  callWorkflow: async (_id, params) => params,
  step: async () => ({
    previousResult: null,
    wasInterrupted: false,
    callWorkflow: async (_id, params) => params,
    end: async () => {},
    [Symbol.dispose]() {},
  }),
  keep: async () => {},
  findKept: () => null,
  isStepInterrupted: () => false,
  previousItems: [],
  isQuiescent: false,
}

/** Runs a firing as a run does: `prepare` comes first. */
export async function runWith(type: NodeType, inputs: InputValues, from: NodeContext): Promise<NodeRunResult> {
  return type.run!(type.prepare ? await type.prepare(inputs, from) : inputs, from)
}
