// Explores the workflows that a run will call, directly and indirectly. Calls with the same requirements are explored once.
import type { OwnerScope } from '../../db/owner-scope.ts'
import type { PlanInput } from '../../engine/compile/compiler.ts'
import { createExpressionDeadline } from '../../engine/compile/pending-expressions.ts'
import type { NodeRegistry } from '../../engine/node-api/node-type.ts'
import type { ToolTarget } from '../../engine/node-api/services/tools.ts'
import { MAX_CALL_DEPTH } from '../../engine/runtime/sub-workflow.ts'
import { ServiceError } from '../../errors.ts'
import { TOOLS_PROPERTY } from '../../nodes/agent/tool-entries.ts'
import { truncateText } from '../../shared/text-truncation.ts'
import { didYouMeanTool } from '../../workflows/did-you-mean.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import type { WorkflowService } from '../../workflows/service.ts'
import type { AbortableTimeSlices } from './abortable-time-slices.ts'
import { AGENT_NODE_TYPE, readAgentToolsSteps } from './agent-tools.ts'
import {
  CALL_NODE_TYPE,
  CALL_TARGET_PROPERTY,
  type CallArguments,
  type Callee,
  createArgumentReader,
  createRunInputReader,
  describeCalleeSteps,
  findCoveredInputsSteps,
  formatCallKey,
  type PreflightCallSite,
  resolveCallArguments,
  validateCallArguments,
} from './call-arguments.ts'
import { type CallGraph, markCycles, type WorkflowUnit } from './call-graph.ts'
import { createErrorIssue, createWarningIssue, type IssueCollector, type RunInputs } from './issues.ts'
import { buildNodeViewsSteps, createToolNodeView, type NodeView, nodeFactsOf } from './node-views.ts'

export type { CallGraph, WorkflowUnit } from './call-graph.ts'

/** Limits the number of called workflows, and of different ways to call them. */
const MOST_CALLED = 200
/** Limits the characters of their graphs, because a large graph takes time and memory. */
const MOST_TEXT = 16 * 1024 * 1024
/** Characters of an id in a message. */
const LONGEST_ID = 80

type NodeToolTarget = Extract<ToolTarget, { readonly node_type: string }>

export interface CallExplorerParts {
  readonly workflows: Pick<WorkflowService, 'prepare' | 'runnable'>
  readonly registry: NodeRegistry
}

/** The run that is explored. */
export interface ExploredRun {
  readonly owner: OwnerScope
  readonly workflow_id: string
  readonly compiled: CompiledWorkflowGraph
  readonly inputs: RunInputs
}

/** Returns the call graph of a run, and adds the problems that it finds to the issues. */
export function exploreCalls(
  tools: CallExplorerParts,
  run: ExploredRun,
  issues: IssueCollector,
  turns: AbortableTimeSlices,
): Promise<CallGraph> {
  return new CallExplorer(tools, run, issues, turns).explore()
}

class CallExplorer {
  readonly #tools: CallExplorerParts
  readonly #run: ExploredRun
  readonly #issues: IssueCollector
  readonly #deadline = createExpressionDeadline()
  readonly #turns: AbortableTimeSlices
  /** Null for workflows that do not exist. */
  readonly #callees = new Map<string, Callee | null>()
  readonly #units = new Map<string, WorkflowUnit>()
  /** The units whose calls are being explored, by workflow. A call to one of them is a cycle. */
  readonly #open = new Map<string, WorkflowUnit>()
  readonly #numbers = new Map<unknown, number>()
  #exploredCount = 0
  #exploredLength = 0

  constructor(tools: CallExplorerParts, run: ExploredRun, issues: IssueCollector, turns: AbortableTimeSlices) {
    this.#tools = tools
    this.#run = run
    this.#issues = issues
    this.#turns = turns
  }

  async explore(): Promise<CallGraph> {
    const { workflow_id, compiled, inputs } = this.#run
    const callee = await this.#addCallee(workflow_id, compiled)
    const covered = await this.#turns.run(findCoveredInputsSteps(inputs, callee))
    const root = this.#createUnit('', callee, createRunInputReader(inputs), covered)
    await this.#exploreUnit(root, null)
    if (root.height > MAX_CALL_DEPTH) {
      const text = `Workflows call each other more than ${MAX_CALL_DEPTH} deep.`
      this.#issues.add(createErrorIssue('called_workflow_too_deep', text))
    }
    const units = [...this.#units.values()]
    markCycles(units)
    return { root, units }
  }

  async #addCallee(workflow_id: string, compiled: CompiledWorkflowGraph): Promise<Callee> {
    const views = await this.#turns.run(buildNodeViewsSteps(compiled, this.#tools.registry))
    const callee = await this.#turns.run(describeCalleeSteps(workflow_id, compiled, views))
    this.#callees.set(workflow_id, callee)
    return callee
  }

  #createUnit(
    key: string,
    { workflow_id, views }: Pick<Callee, 'workflow_id' | 'views'>,
    given: WorkflowUnit['given'],
    covered: Set<string>,
  ): WorkflowUnit {
    const unit = {
      workflow_id,
      views,
      given,
      covered,
      calls: new Map(),
      tools: new Map(),
      height: 0,
      recursive: false,
      cycle: [],
    }
    this.#units.set(key, unit)
    return unit
  }

  /** `at` is the node of the run's own workflow through which this unit is called. Issues name it. */
  async #exploreUnit(unit: WorkflowUnit, at: string | null): Promise<void> {
    this.#open.set(unit.workflow_id, unit)
    for (const view of unit.views) {
      if (view.node_type !== CALL_NODE_TYPE && view.node_type !== AGENT_NODE_TYPE) continue
      if (this.#turns.over) await this.#turns.next()
      if (view.node_type === AGENT_NODE_TYPE) {
        unit.tools.set(view.id, await this.#exploreTools(unit, view, at ?? view.id))
        continue
      }
      const called = await this.#exploreCall(unit, view, at ?? view.id)
      unit.calls.set(view.id, called)
      if (called && !this.#open.has(called.workflow_id)) unit.height = Math.max(unit.height, called.height + 1)
    }
    this.#open.delete(unit.workflow_id)
  }

  async #exploreTools(unit: WorkflowUnit, view: NodeView, at: string): Promise<(WorkflowUnit | null)[]> {
    const found = await this.#turns.run(readAgentToolsSteps(nodeFactsOf(view, unit.given), this.#tools.registry))
    if (!found) {
      this.#warn('called_workflow_unknown', `The tools of node "${view.id}" are known only during the run.`, at)
      return [null]
    }
    for (const problem of found.problems)
      if (!this.#issues.hasError(at, TOOLS_PROPERTY, `Node "${at}": ${problem}`))
        this.#issues.add(createErrorIssue('tool_invalid', problem, at, TOOLS_PROPERTY))
    const tools: (WorkflowUnit | null)[] = []
    for (const target of found.targets) {
      if (this.#turns.over) await this.#turns.next()
      tools.push(await this.#exploreTool(unit, view, target, at))
    }
    return tools
  }

  async #exploreTool(unit: WorkflowUnit, view: NodeView, target: ToolTarget, at: string): Promise<WorkflowUnit | null> {
    if ('node_type' in target) return this.#exploreNodeTool(unit, view, target, at)
    const site = { name: truncateText(target.workflow_id, LONGEST_ID), at, pin: TOOLS_PROPERTY }
    const callee = await this.#findCallee(target.workflow_id)
    if (callee === undefined) return this.#warnUnchecked()
    if (callee === null) {
      const meant = didYouMeanTool(this.#tools.registry, target.workflow_id)
      const text = `The workflow "${site.name}", a tool of node "${view.id}", was not found.${meant}`
      this.#issues.add(createErrorIssue('called_workflow_not_found', text, at, TOOLS_PROPERTY))
      return null
    }
    // The model writes the arguments of a tool.
    const passed = new Map([...(callee.inputs?.keys() ?? [])].map((name) => [name, undefined]))
    return this.#findRecursion(target.workflow_id, site) ?? this.#ensureUnit(callee, passed, site)
  }

  async #exploreNodeTool(
    unit: WorkflowUnit,
    { id, connected }: NodeView,
    { node_type, data }: NodeToolTarget,
    at: string,
  ): Promise<WorkflowUnit | null> {
    if (this.#units.size > MOST_CALLED) return this.#warnUnchecked()
    const workflow_id = unit.workflow_id === this.#run.workflow_id ? id : `${unit.workflow_id}/${id}`
    const view = createToolNodeView(this.#tools.registry.get(node_type)!, data, connected.has(TOOLS_PROPERTY))
    const given = ({ name }: PlanInput) => data[name]
    const tool = this.#createUnit(`tool ${this.#units.size}`, { workflow_id, views: [view] }, given, new Set())
    await this.#exploreUnit(tool, at)
    return tool
  }

  async #exploreCall(unit: WorkflowUnit, view: NodeView, at: string): Promise<WorkflowUnit | null> {
    const facts = nodeFactsOf(view, unit.given)
    const id = facts.data[CALL_TARGET_PROPERTY]
    if (facts.isConnected(CALL_TARGET_PROPERTY) || typeof id !== 'string' || id === '') {
      this.#warn(
        'called_workflow_unknown',
        `The workflow that node "${view.id}" calls is known only during the run.`,
        at,
      )
      return null
    }
    const site = { name: truncateText(id, LONGEST_ID), at, pin: CALL_TARGET_PROPERTY }
    const callee = await this.#findCallee(id)
    if (callee === undefined) return this.#warnUnchecked()
    if (callee === null) {
      const text = `The workflow "${site.name}" that node "${view.id}" of "${truncateText(unit.workflow_id, LONGEST_ID)}" calls was not found.`
      this.#issues.add(createErrorIssue('called_workflow_not_found', text, at, CALL_TARGET_PROPERTY))
      return null
    }
    const passed = resolveCallArguments(view, unit.given)
    validateCallArguments(callee, view, passed, site, this.#issues)
    return this.#findRecursion(id, site) ?? this.#ensureUnit(callee, passed, site)
  }

  /** Returns the calling unit if the call is recursive. */
  #findRecursion(id: string, { name, at }: PreflightCallSite): WorkflowUnit | null {
    const open = this.#open.get(id)
    if (!open) return null
    const text = `The workflow "${name}" calls itself, directly or through others: a run of it may not end.`
    this.#warn('called_workflow_recursive', text, at)
    return open
  }

  async #ensureUnit(
    callee: Callee,
    passed: CallArguments,
    { name, at, pin }: PreflightCallSite,
  ): Promise<WorkflowUnit | null> {
    const key = formatCallKey(callee, passed, this.#numbers)
    const known = this.#units.get(key)
    if (known) {
      for (const one of known.covered) if (!passed.has(one)) known.covered.delete(one)
      return known
    }
    if (this.#units.size > MOST_CALLED) return this.#warnUnchecked()
    if (callee.fault !== null) {
      const text = `The called workflow "${name}" cannot run: ${callee.fault}`
      this.#issues.add(createErrorIssue('called_workflow_invalid', text, at, pin))
    }
    const unit = this.#createUnit(key, callee, createArgumentReader(passed), new Set(passed.keys()))
    await this.#exploreUnit(unit, at)
    return unit
  }

  /** Returns undefined if the limits are reached. */
  async #findCallee(id: string): Promise<Callee | null | undefined> {
    const known = this.#callees.get(id)
    if (known !== undefined) return known
    if (this.#exploredCount >= MOST_CALLED || this.#exploredLength > MOST_TEXT) return undefined
    // A workflow may be large, and compiling it takes time.
    await this.#turns.next()
    await this.#tools.workflows.prepare(this.#run.owner, id, this.#deadline)
    const compiled = this.#findCompiled(id)
    if (!compiled) {
      this.#callees.set(id, null)
      return null
    }
    this.#exploredCount++
    this.#exploredLength += compiled.body.length
    return this.#addCallee(id, compiled)
  }

  #findCompiled(id: string): CompiledWorkflowGraph | null {
    try {
      return this.#tools.workflows.runnable(this.#run.owner, id).compiled
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'WORKFLOW_NOT_FOUND') return null
      throw error
    }
  }

  #warnUnchecked(): null {
    this.#warn('called_workflows_unchecked', `At most ${MOST_CALLED} called workflows were checked.`, null)
    return null
  }

  #warn(code: string, message: string, at: string | null): void {
    this.#issues.add(createWarningIssue(code, message, at))
  }
}
