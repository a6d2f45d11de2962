// What node code sees of a run, for tests that call it without one.
import type { Inputs, NodeContext, NodeType, RunResult } from '../../src/engine/node-type.ts'
import { noServices } from '../../src/engine/services.ts'
import { finish } from '../../src/time-slices.ts'

export const context: NodeContext = {
  node_id: 'n',
  outputs: new Map(),
  streams: false,
  isConnected: () => false,
  waits: false,
  run: {},
  signal: new AbortController().signal,
  clock: { now: () => 0, sleep: async () => {} },
  inSlices: async (steps) => finish(steps),
  hold: () => {},
  random: () => 0,
  services: noServices,
  log: () => {},
  progress: () => {},
  chunk: () => {},
  tool: () => {},
  callWorkflow: async (_id, params) => params,
  step: async () => ({
    known: null,
    interrupted: false,
    callWorkflow: async (_id, params) => params,
    end: async () => {},
    [Symbol.dispose]() {},
  }),
  keep: async () => {},
  kept: () => null,
  interrupted: () => false,
  given: [],
  resting: false,
}

/** Runs a firing of a type as a run does: what it takes from outside comes first. */
export async function runWith(type: NodeType, inputs: Inputs, from: NodeContext): Promise<RunResult> {
  return type.run!(type.prepare ? await type.prepare(inputs, from) : inputs, from)
}
