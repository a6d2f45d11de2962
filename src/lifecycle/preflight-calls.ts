// The workflows that a run will call, and those that these call in turn: each looked at once for all calls from which the same is to be told.
import type { Scope } from '../db/scope.ts'
import type { NodeRegistry } from '../engine/node-type.ts'
import { expressionDeadline } from '../engine/pending-expressions.ts'
import type { PlanInput } from '../engine/plan.ts'
import type { ToolTarget } from '../engine/services.ts'
import { DEEPEST_CALL } from '../engine/sub-workflow.ts'
import { ServiceError } from '../errors.ts'
import { TOOLS } from '../nodes/agent-entries.ts'
import { cut } from '../short.ts'
import { meantTool } from '../workflows/meant-tool.ts'
import type { CompiledGraph } from '../workflows/plans.ts'
import type { WorkflowService } from '../workflows/service.ts'
import { errorIssue, type Inputs, type Issues, warningIssue } from './preflight-issues.ts'
import { factsOf, type NodeView, nodeViewSteps, toolView } from './preflight-nodes.ts'
import {
  CALL,
  type Callee,
  calleeSteps,
  checkPassed,
  coveredSteps,
  givenBy,
  givenIn,
  keyOf,
  type Passed,
  type Place,
  passedBy,
  TARGET,
} from './preflight-passed.ts'
import { AGENT, toolsSteps } from './preflight-tools.ts'
import type { Turns } from './preflight-turns.ts'
import { type Family, markCycles, type Unit } from './preflight-units.ts'

export type { Family, Unit } from './preflight-units.ts'

/** So many called workflows are looked at, and so many different ways to call them. */
const MOST_CALLED = 200
/** So many characters of their graphs: a large one takes its time and its memory. */
const MOST_TEXT = 16 * 1024 * 1024
/** Characters of an id in a message. */
const LONGEST_ID = 80

type NodeTarget = Extract<ToolTarget, { readonly node_type: string }>

export interface CallTools {
  readonly workflows: Pick<WorkflowService, 'prepare' | 'runnable'>
  readonly registry: NodeRegistry
}

/** One run that is looked at. */
export interface Explored {
  readonly owner: Scope
  readonly workflow_id: string
  readonly compiled: CompiledGraph
  readonly inputs: Inputs
}

/** What a run of this graph would be made of; what is wrong with it is added to the issues. */
export function exploreCalls(tools: CallTools, run: Explored, issues: Issues, turns: Turns): Promise<Family> {
  return new Explorer(tools, run, issues, turns).explore()
}

class Explorer {
  readonly #tools: CallTools
  readonly #run: Explored
  readonly #issues: Issues
  readonly #deadline = expressionDeadline()
  readonly #turns: Turns
  /** Null for those that are not there. */
  readonly #callees = new Map<string, Callee | null>()
  readonly #units = new Map<string, Unit>()
  /** Those whose calls are being looked at, by workflow: to meet one of them again is to go round. */
  readonly #open = new Map<string, Unit>()
  readonly #numbers = new Map<unknown, number>()
  #looked = 0
  #length = 0

  constructor(tools: CallTools, run: Explored, issues: Issues, turns: Turns) {
    this.#tools = tools
    this.#run = run
    this.#issues = issues
    this.#turns = turns
  }

  async explore(): Promise<Family> {
    const { workflow_id, compiled, inputs } = this.#run
    const callee = await this.#keep(workflow_id, compiled)
    const covered = await this.#turns.run(coveredSteps(inputs, callee))
    const root = this.#unit('', callee, givenIn(inputs), covered)
    await this.#follow(root, null)
    if (root.height > DEEPEST_CALL) {
      const text = `Workflows call each other more than ${DEEPEST_CALL} deep.`
      this.#issues.add(errorIssue('called_workflow_too_deep', text))
    }
    const units = [...this.#units.values()]
    markCycles(units)
    return { root, units }
  }

  async #keep(workflow_id: string, compiled: CompiledGraph): Promise<Callee> {
    const views = await this.#turns.run(nodeViewSteps(compiled, this.#tools.registry))
    const callee = await this.#turns.run(calleeSteps(workflow_id, compiled, views))
    this.#callees.set(workflow_id, callee)
    return callee
  }

  #unit(
    key: string,
    { workflow_id, views }: Pick<Callee, 'workflow_id' | 'views'>,
    given: Unit['given'],
    covered: Set<string>,
  ): Unit {
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

  /** `at` is the node of the run's own workflow through which this one is called: issues are told of it. */
  async #follow(unit: Unit, at: string | null): Promise<void> {
    this.#open.set(unit.workflow_id, unit)
    for (const view of unit.views) {
      if (view.node_type !== CALL && view.node_type !== AGENT) continue
      if (this.#turns.over) await this.#turns.next()
      if (view.node_type === AGENT) {
        unit.tools.set(view.id, await this.#toolsOf(unit, view, at ?? view.id))
        continue
      }
      const called = await this.#called(unit, view, at ?? view.id)
      unit.calls.set(view.id, called)
      if (called && !this.#open.has(called.workflow_id)) unit.height = Math.max(unit.height, called.height + 1)
    }
    this.#open.delete(unit.workflow_id)
  }

  async #toolsOf(unit: Unit, view: NodeView, at: string): Promise<(Unit | null)[]> {
    const found = await this.#turns.run(toolsSteps(factsOf(view, unit.given), this.#tools.registry))
    if (!found) {
      this.#warn('called_workflow_unknown', `Which tools node "${view.id}" has shows in the run alone.`, at)
      return [null]
    }
    for (const problem of found.problems)
      if (!this.#issues.tells(at, TOOLS, `Node "${at}": ${problem}`))
        this.#issues.add(errorIssue('tool_invalid', problem, at, TOOLS))
    const tools: (Unit | null)[] = []
    for (const target of found.targets) {
      if (this.#turns.over) await this.#turns.next()
      tools.push(await this.#tool(unit, view, target, at))
    }
    return tools
  }

  async #tool(unit: Unit, view: NodeView, target: ToolTarget, at: string): Promise<Unit | null> {
    if ('node_type' in target) return this.#nodeTool(unit, view, target, at)
    const place = { name: cut(target.workflow_id, LONGEST_ID), at, pin: TOOLS }
    const callee = await this.#callee(target.workflow_id)
    if (callee === undefined) return this.#unchecked()
    if (callee === null) {
      const meant = meantTool(this.#tools.registry, target.workflow_id)
      const text = `The workflow "${place.name}", a tool of node "${view.id}", was not found.${meant}`
      this.#issues.add(errorIssue('called_workflow_not_found', text, at, TOOLS))
      return null
    }
    // What it is given, the model writes.
    const passed = new Map([...(callee.inputs?.keys() ?? [])].map((name) => [name, undefined]))
    return this.#back(target.workflow_id, place) ?? this.#unitOf(callee, passed, place)
  }

  async #nodeTool(
    unit: Unit,
    { id, connected }: NodeView,
    { node_type, data }: NodeTarget,
    at: string,
  ): Promise<Unit | null> {
    if (this.#units.size > MOST_CALLED) return this.#unchecked()
    const workflow_id = unit.workflow_id === this.#run.workflow_id ? id : `${unit.workflow_id}/${id}`
    const view = toolView(this.#tools.registry.get(node_type)!, data, connected.has(TOOLS))
    const given = ({ name }: PlanInput) => data[name]
    const tool = this.#unit(`tool ${this.#units.size}`, { workflow_id, views: [view] }, given, new Set())
    await this.#follow(tool, at)
    return tool
  }

  async #called(unit: Unit, view: NodeView, at: string): Promise<Unit | null> {
    const facts = factsOf(view, unit.given)
    const id = facts.data[TARGET]
    if (facts.isConnected(TARGET) || typeof id !== 'string' || id === '') {
      this.#warn('called_workflow_unknown', `Which workflow node "${view.id}" calls shows in the run alone.`, at)
      return null
    }
    const place = { name: cut(id, LONGEST_ID), at, pin: TARGET }
    const callee = await this.#callee(id)
    if (callee === undefined) return this.#unchecked()
    if (callee === null) {
      const text = `The workflow "${place.name}" that node "${view.id}" of "${cut(unit.workflow_id, LONGEST_ID)}" calls was not found.`
      this.#issues.add(errorIssue('called_workflow_not_found', text, at, TARGET))
      return null
    }
    const passed = passedBy(view, unit.given)
    checkPassed(callee, view, passed, place, this.#issues)
    return this.#back(id, place) ?? this.#unitOf(callee, passed, place)
  }

  /** The unit that calls, where a call goes round. */
  #back(id: string, { name, at }: Place): Unit | null {
    const open = this.#open.get(id)
    if (!open) return null
    const text = `The workflow "${name}" calls itself, by itself or through others: a run of it may not end.`
    this.#warn('called_workflow_recursive', text, at)
    return open
  }

  async #unitOf(callee: Callee, passed: Passed, { name, at, pin }: Place): Promise<Unit | null> {
    const key = keyOf(callee, passed, this.#numbers)
    const known = this.#units.get(key)
    if (known) {
      for (const one of known.covered) if (!passed.has(one)) known.covered.delete(one)
      return known
    }
    if (this.#units.size > MOST_CALLED) return this.#unchecked()
    if (callee.fault !== null) {
      const text = `The called workflow "${name}" cannot run: ${callee.fault}`
      this.#issues.add(errorIssue('called_workflow_invalid', text, at, pin))
    }
    const unit = this.#unit(key, callee, givenBy(passed), new Set(passed.keys()))
    await this.#follow(unit, at)
    return unit
  }

  /** Nothing where enough was looked at. */
  async #callee(id: string): Promise<Callee | null | undefined> {
    const known = this.#callees.get(id)
    if (known !== undefined) return known
    if (this.#looked >= MOST_CALLED || this.#length > MOST_TEXT) return undefined
    // A workflow may be large, and to compile it takes its time: others have their turn in between.
    await this.#turns.next()
    await this.#tools.workflows.prepare(this.#run.owner, id, this.#deadline)
    const compiled = this.#compiled(id)
    if (!compiled) {
      this.#callees.set(id, null)
      return null
    }
    this.#looked++
    this.#length += compiled.body.length
    return this.#keep(id, compiled)
  }

  #compiled(id: string): CompiledGraph | null {
    try {
      return this.#tools.workflows.runnable(this.#run.owner, id).compiled
    } catch (error) {
      if (error instanceof ServiceError && error.code === 'WORKFLOW_NOT_FOUND') return null
      throw error
    }
  }

  #unchecked(): null {
    this.#warn('called_workflows_unchecked', `Of the called workflows ${MOST_CALLED} were looked at at most.`, null)
    return null
  }

  #warn(code: string, message: string, at: string | null): void {
    this.#issues.add(warningIssue(code, message, at))
  }
}
