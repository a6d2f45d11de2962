// Runs one workflow inside another: its own plan and scope, the caller's signal, budget, clock and log.
import { Budget } from './budget.ts'
import { Call } from './call.ts'
import { type Clock, systemClock } from './clock.ts'
import type { SharedMemory } from './held-values.ts'
import type { Journal, NodeUpdate } from './journal.ts'
import { type Memory, memoryOf } from './memory.ts'
import { Interrupted, type LogSeverity, NodeError, type Outputs } from './node-type.ts'
import type { ObservedNode, Outcome, RunObserver } from './observer.ts'
import type { Plan } from './plan.ts'
import { Run } from './run.ts'
import { type NodeServices, noServices } from './services.ts'

const INTERRUPTED = 'node_interrupted'

/** How deep workflows may call each other. */
export const DEEPEST_CALL = 16

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
  sharedMemory?: SharedMemory
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
  bytesOf?: (plan: Plan) => number
}

/**
 * Watchers of a run see its own nodes; of the workflows it calls they see what these say, as the caller's words. What a step calls says nothing
 * in its name: the caller has its own words. `site` is before the ids of calls of tools, so that those of two firings differ.
 */
function asCaller(observer: RunObserver, caller: ObservedNode, site: string, inStep: boolean): RunObserver {
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

function checkParams(plan: Plan, workflow_id: string, params: Record<string, unknown>): void {
  const names = new Set(plan.inputs.map((input) => input.name))
  for (const name of Object.keys(params)) {
    if (!names.has(name)) throw new NodeError(`Workflow "${workflow_id}" has no input "${name}".`, 'unknown_input')
  }
}

/** A single output is its value, a streamed one its list; what got nothing is missing. */
function outputsOf(plan: Plan, workflow_id: string, outcome: Outcome): Outputs {
  if (outcome.status === 'cancelled' || outcome.status === 'suspended')
    throw new NodeError(`Workflow "${workflow_id}" was cancelled.`, 'cancelled')
  if (outcome.status === 'failed') {
    const { node_id, message, type } = outcome.error
    const text = `Workflow "${workflow_id}" failed at node "${node_id}": ${message}`
    throw type === INTERRUPTED ? new Interrupted(text) : new NodeError(text, type)
  }
  const entries = plan.outputs.map(({ name, stream }) => {
    const values = outcome.outputs[name]!
    return [name, stream ? values : values[0]] as const
  })
  return Object.fromEntries(entries.filter(([, value]) => value !== undefined))
}

function budgetOf({
  concurrency = 64,
  services = noServices,
  memoryLimit = Number.POSITIVE_INFINITY,
  sharedMemory,
  observer,
}: ExecuteOptions) {
  return new Budget(concurrency, {
    owner: services.owner,
    backlog: () => observer.backlog?.() ?? null,
    memory_bytes: memoryLimit,
    shared: sharedMemory,
  })
}

/** Makes a run whose nodes may call workflows, down to the depth limit. */
export function newRun(
  plan: Plan,
  options: ExecuteOptions,
  budget = budgetOf(options),
  depth = 0,
  memory: Memory | null = memoryOf(options.journal, options.seed),
): Run {
  return new Run(plan, {
    params: options.params,
    signal: options.signal,
    observer: options.observer,
    budget,
    inboxLimit: options.inboxLimit ?? 64,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    timeLimit: depth === 0 ? (options.timeLimit ?? null) : null,
    services: options.services ?? noServices,
    memory,
    updates: depth === 0 ? (options.updates ?? []) : [],
    async callWorkflow(caller, workflow_id, params, calls, { signal, memo, step }) {
      if (depth >= DEEPEST_CALL) {
        throw new NodeError(`Workflows call each other more than ${DEEPEST_CALL} deep.`, 'too_deep')
      }
      const { loadPlan } = options
      if (!loadPlan) throw new NodeError('Workflows can not be called here.', 'no_workflows')
      // An attempt that is over calls nothing any more: the calls of the next one are counted from here.
      signal.throwIfAborted()
      const inside = memo?.nextCall(step) ?? null
      const site = memo ? `${memo.place}#${step?.call ?? memo.calls.made - 1}` : workflow_id
      const call: Call = new Call(budget, depth + 1, (still) => memo?.calls.note(step ?? call, still))
      if (step) step.called = call
      calls.add(call)
      try {
        return await call.inPlace(async () => {
          const called = await loadPlan(workflow_id)
          using _ = budget.plans.hold(called, options.bytesOf?.(called) ?? 0)
          checkParams(called, workflow_id, params)
          const inner = {
            ...options,
            params,
            signal,
            observer: asCaller(options.observer, caller, site, step !== null),
          }
          const run = newRun(called, inner, budget, depth + 1, inside)
          try {
            return outputsOf(called, workflow_id, await call.outcomeOf(run))
          } finally {
            inside?.parking?.leave(run)
          }
        })
      } finally {
        calls.delete(call)
        // What a step called is not the end of the step.
        if (step && memo) memo.calls.note(step, false)
        else memo?.calls.over(call)
      }
    },
  })
}
