// Runs one workflow inside another: its own plan and scope, the caller's signal, budget, clock and log.

import type { Plan } from '../compile/compiler.ts'
import type { Journal, NodeUpdate } from '../durability/journal.ts'
import { createRunDurability, type RunDurability } from '../durability/run-durability.ts'
import { type Clock, systemClock } from '../node-api/clock.ts'
import { type NodeServices, noServices } from '../node-api/node-services.ts'
import { type LogSeverity, NodeError, NodeInterruptedError, type OutputValues } from '../node-api/node-type.ts'
import type { ProcessMemoryAccount } from './run/memory-account.ts'
import type { ObservedNode, RunObserver, RunOutcome } from './run/observer.ts'
import { RunResources } from './run/resources.ts'
import { GraphRun } from './run/run.ts'
import { WorkflowCall } from './workflow-call.ts'

const INTERRUPTED_TYPE = 'node_interrupted'

/** How deep workflows may call each other. */
export const MAX_CALL_DEPTH = 16

export interface ExecuteOptions {
  /** Values of input nodes by name. */
  params: Record<string, unknown>
  /** Aborting it cancels the run. */
  signal: AbortSignal
  observer: RunObserver
  /** How many asynchronous firings may be in flight at once, sub-workflows included. Default 64. */
  concurrency?: number
  /** How many tokens wait on an edge before its producer pauses. Default 64. */
  inboxLimit?: number
  /** About how many bytes the values may take that the run and its sub-workflows hold at once. Default: no limit. */
  memoryLimit?: number
  /** What it shares with all other runs of the process. Default: nothing. */
  sharedMemory?: ProcessMemoryAccount
  clock?: Clock
  /** Milliseconds after which the run fails with `timed_out`. Default: no limit. */
  timeLimit?: number
  /** Default Math.random. */
  random?: () => number
  /** What nodes may use besides. Default: nothing. */
  services?: NodeServices
  /** What makes the run one that can go on after an interruption: with the same plan, params and seed. Absent: nothing is remembered. */
  journal?: Journal
  /** A whole number from which all random numbers of the run are made. Absent: `random` gives them. */
  seed?: number
  /** The changes of nodes' own values from before an interruption, in their order. */
  updates?: readonly NodeUpdate[]
  /** Finds the plan of a workflow that a `workflow.Call` names; throws NodeError where there is none. */
  loadPlan?: (workflow_id: string) => Promise<Plan>
  /** About how much memory the plan of a called workflow takes, in bytes, which the run holds meanwhile. Default: nothing. */
  estimatePlanBytes?: (plan: Plan) => number
}

/**
 * Watchers of a run see its own nodes; of the workflows it calls they see what these say, as the caller's words. What a step calls says nothing
 * in its name: the caller has its own words. `site` is before the ids of calls of tools, so that those of two firings differ.
 */
function createCallerObserver(observer: RunObserver, caller: ObservedNode, site: string, inStep: boolean): RunObserver {
  return {
    nodeUpdated() {},
    output() {},
    edgeUpdated() {},
    progress() {},
    chunk: (_node, chunk, speaker) => {
      if (!inStep) observer.chunk(caller, chunk, speaker)
    },
    tool: (_node, told) => observer.tool?.(caller, { ...told, tool_call_id: `${site}/${told.tool_call_id}` }),
    log: (node, severity: LogSeverity, content) => observer.log(caller, severity, `${node.node_id}: ${content}`),
    fault: (_node, cause, told) => observer.fault(caller, cause, told),
  }
}

function validateParams(plan: Plan, workflow_id: string, params: Record<string, unknown>): void {
  const names = new Set(plan.inputs.map((input) => input.name))
  for (const name of Object.keys(params)) {
    if (!names.has(name)) throw new NodeError(`Workflow "${workflow_id}" has no input "${name}".`, 'unknown_input')
  }
}

/** A single output is its value, a streamed one its list; what got nothing is missing. */
function readOutcome(plan: Plan, workflow_id: string, outcome: RunOutcome): OutputValues {
  if (outcome.status === 'cancelled' || outcome.status === 'suspended')
    throw new NodeError(`Workflow "${workflow_id}" was cancelled.`, 'cancelled')
  if (outcome.status === 'failed') {
    const { node_id, message, type } = outcome.error
    const text = `Workflow "${workflow_id}" failed at node "${node_id}": ${message}`
    throw type === INTERRUPTED_TYPE ? new NodeInterruptedError(text) : new NodeError(text, type)
  }
  const entries = plan.outputs.map(({ name, stream }) => {
    const values = outcome.outputs[name]!
    return [name, stream ? values : values[0]] as const
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function createRunResources({
  concurrency = 64,
  services = noServices,
  memoryLimit = Number.POSITIVE_INFINITY,
  sharedMemory,
  observer,
}: ExecuteOptions) {
  return new RunResources(concurrency, {
    owner: services.owner,
    backlog: () => observer.backlog?.() ?? null,
    memory_bytes: memoryLimit,
    shared: sharedMemory,
  })
}

/** Makes a run whose nodes may call workflows, down to the depth limit. */
export function createRun(
  plan: Plan,
  options: ExecuteOptions,
  budget = createRunResources(options),
  depth = 0,
  memory: RunDurability | null = createRunDurability(options.journal, options.seed),
): GraphRun {
  return new GraphRun(plan, {
    params: options.params,
    signal: options.signal,
    observer: options.observer,
    resources: budget,
    inboxLimit: options.inboxLimit ?? 64,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    timeLimitMs: depth === 0 ? (options.timeLimit ?? null) : null,
    services: options.services ?? noServices,
    durability: memory,
    updates: depth === 0 ? (options.updates ?? []) : [],
    async callWorkflow(caller, workflow_id, params, calls, { signal, record: memo, step }) {
      if (depth >= MAX_CALL_DEPTH) {
        throw new NodeError(`Workflows call each other more than ${MAX_CALL_DEPTH} deep.`, 'too_deep')
      }
      const { loadPlan } = options
      if (!loadPlan) throw new NodeError('Workflows can not be called here.', 'no_workflows')
      // An attempt that is over calls nothing any more: the calls of the next one are counted from here.
      signal.throwIfAborted()
      const inside = memo?.nextCall(step) ?? null
      const site = memo ? `${memo.pathText}#${step?.call ?? memo.calls.count - 1}` : workflow_id
      const call: WorkflowCall = new WorkflowCall(budget, depth + 1, (still) =>
        memo?.calls.setWaiting(step ?? call, still),
      )
      if (step) step.currentCall = call
      calls.add(call)
      try {
        return await call.withPermit(async () => {
          const called = await loadPlan(workflow_id)
          using _ = budget.calledPlans.hold(called, options.estimatePlanBytes?.(called) ?? 0)
          validateParams(called, workflow_id, params)
          const inner = {
            ...options,
            params,
            signal,
            observer: createCallerObserver(options.observer, caller, site, step !== null),
          }
          const run = createRun(called, inner, budget, depth + 1, inside)
          try {
            return readOutcome(called, workflow_id, await call.runToEnd(run))
          } finally {
            inside?.waitRegistry?.removeRun(run)
          }
        })
      } finally {
        calls.delete(call)
        // What a step called is not the end of the step.
        if (step && memo) memo.calls.setWaiting(step, false)
        else memo?.calls.remove(call)
      }
    },
  })
}
