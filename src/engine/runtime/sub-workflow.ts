// Runs one workflow inside another: with its own plan and scope, but the caller's signal, resources, clock and log.

import type { Plan } from '../compile/compiler.ts'
import type { Journal, NodeUpdate } from '../durability/journal.ts'
import { createRunDurability, type RunDurability } from '../durability/run-durability.ts'
import { type Clock, systemClock } from '../node-api/clock.ts'
import type { OutputValues } from '../node-api/firing-forms.ts'
import type { LogSeverity } from '../node-api/node-context.ts'
import { NodeError, NodeInterruptedError } from '../node-api/node-error.ts'
import type { NodeServices } from '../node-api/node-services.ts'
import { noServices } from '../node-api/services/no-services.ts'
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
  /** The limit of asynchronous firings in flight, including sub-workflows. Default 64. */
  concurrency?: number
  /** The number of tokens on an edge before its producer pauses. Default 64. */
  inboxLimit?: number
  /** The limit in approximate bytes of the values held by the run and its sub-workflows. Default: no limit. */
  memoryLimit?: number
  /** The memory account shared by all runs of the process. Default: none. */
  sharedMemory?: ProcessMemoryAccount
  clock?: Clock
  /** Milliseconds after which the run fails with `timed_out`. Default: no limit. */
  timeLimit?: number
  /** Default Math.random. */
  random?: () => number
  /** The services of the nodes. Default: none. */
  services?: NodeServices
  /** Makes the run durable: it can continue after an interruption with the same plan, params and seed. Absent: nothing is recorded. */
  journal?: Journal
  /** An integer that seeds all random numbers of the run. Absent: `random` is used. */
  seed?: number
  /** Property changes from before an interruption, in their order. */
  updates?: readonly NodeUpdate[]
  /** Loads the plan of a workflow that a `workflow.Call` names; throws NodeError if there is none. */
  loadPlan?: (workflow_id: string) => Promise<Plan>
  /** The approximate memory of a called workflow's plan, in bytes, held during the call. Default: 0. */
  estimatePlanBytes?: (plan: Plan) => number
}

/**
 * Followers of a run see only its own nodes. Chunks, logs and tool reports of called workflows appear as the caller's, but chunks of calls
 * within steps are dropped, as the caller writes its own. `site` prefixes tool call ids, so that those of two firings differ.
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
    tool: (_node, report) => observer.tool?.(caller, { ...report, tool_call_id: `${site}/${report.tool_call_id}` }),
    log: (node, severity: LogSeverity, content) => observer.log(caller, severity, `${node.node_id}: ${content}`),
    fault: (_node, cause, hasPublicMessage) => observer.fault(caller, cause, hasPublicMessage),
  }
}

function validateParams(plan: Plan, workflow_id: string, params: Record<string, unknown>): void {
  const names = new Set(plan.inputs.map((input) => input.name))
  for (const name of Object.keys(params)) {
    if (!names.has(name)) throw new NodeError(`Workflow "${workflow_id}" has no input "${name}".`, 'unknown_input')
  }
}

/** A single output is its value, a streamed one its list; outputs without a value are missing. */
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

/** Creates a run whose nodes may call workflows, down to the depth limit. */
export function createRun(
  plan: Plan,
  options: ExecuteOptions,
  resources = createRunResources(options),
  depth = 0,
  durability: RunDurability | null = createRunDurability(options.journal, options.seed),
): GraphRun {
  return new GraphRun(plan, {
    params: options.params,
    signal: options.signal,
    observer: options.observer,
    resources,
    inboxLimit: options.inboxLimit ?? 64,
    clock: options.clock ?? systemClock,
    random: options.random ?? Math.random,
    timeLimitMs: depth === 0 ? (options.timeLimit ?? null) : null,
    services: options.services ?? noServices,
    durability,
    updates: depth === 0 ? (options.updates ?? []) : [],
    async callWorkflow(caller, workflow_id, params, calls, { signal, record, step }) {
      if (depth >= MAX_CALL_DEPTH) {
        throw new NodeError(`Workflows call each other more than ${MAX_CALL_DEPTH} deep.`, 'too_deep')
      }
      const { loadPlan } = options
      if (!loadPlan) throw new NodeError('Workflows can not be called here.', 'no_workflows')
      // An attempt that is over must not call: the next attempt counts its calls from here.
      signal.throwIfAborted()
      const attempts = record?.attempts
      const inside = attempts?.nextCall(step) ?? null
      const site = record ? `${record.pathText}#${step?.call ?? record.attempts.calls.count - 1}` : workflow_id
      const call: WorkflowCall = new WorkflowCall(resources, depth + 1, (still) =>
        attempts?.calls.setWaiting(step ?? call, still),
      )
      if (step) step.currentCall = call
      calls.add(call)
      try {
        return await call.withPermit(async () => {
          const called = await loadPlan(workflow_id)
          using _ = resources.calledPlans.hold(called, options.estimatePlanBytes?.(called) ?? 0)
          validateParams(called, workflow_id, params)
          const inner = {
            ...options,
            params,
            signal,
            observer: createCallerObserver(options.observer, caller, site, step !== null),
          }
          const run = createRun(called, inner, resources, depth + 1, inside)
          try {
            return readOutcome(called, workflow_id, await call.runToEnd(run))
          } finally {
            inside?.waitRegistry?.removeRun(run.ending)
          }
        })
      } finally {
        calls.delete(call)
        // The end of a step's call is not the end of the step.
        if (step) attempts?.calls.setWaiting(step, false)
        else attempts?.calls.remove(call)
      }
    },
  })
}
