// What a node passes to the workflow that it calls: the values that are known, whether the inputs take them, and whether any is lacking.

import type { PlanInput } from '../../engine/compile/compiler.ts'
import { ANY_TYPE } from '../../engine/node-api/values/type-metadata.ts'
import { resolveParam } from '../../engine/runtime/run/params.ts'
import { forEachSteps, type Steps } from '../../shared/time-slices.ts'
import { findInputProblems } from '../../workflows/param-validation.ts'
import type { CompiledWorkflowGraph } from '../../workflows/plan-cache.ts'
import { createErrorIssue, type IssueCollector, type RunInputs } from './issues.ts'
import type { NodeView } from './node-views.ts'

export const CALL_NODE_TYPE = 'workflow.Call'
export const CALL_TARGET_PROPERTY = 'workflow_id'

/** A workflow that is called, with what its callers are held against. */
export interface Callee {
  readonly workflow_id: string
  readonly views: readonly NodeView[]
  /** Why it cannot run, or null. */
  readonly fault: string | null
  /** Null where it cannot run: then nobody knows what it takes. */
  readonly inputs: ReadonlyMap<string, PlanInput> | null
  readonly required: readonly string[]
  /** The inputs on whose values hangs what its nodes need, each with a number. */
  readonly decisiveInputs: ReadonlyMap<string, number>
}

export function* describeCalleeSteps(
  workflow_id: string,
  { plan, issues }: CompiledWorkflowGraph,
  views: readonly NodeView[],
): Steps<Callee> {
  const inputs = new Map<string, PlanInput>()
  const required: string[] = []
  yield* forEachSteps(plan?.inputs ?? [], (input) => {
    inputs.set(input.name, input)
    if (input.required) required.push(input.name)
  })
  const telling = new Map<string, number>()
  yield* forEachSteps(views, ({ type, node_type, runInputs: given }) => {
    if (!type?.needs && node_type !== CALL_NODE_TYPE) return
    for (const { name } of given.values()) if (!telling.has(name)) telling.set(name, telling.size)
  })
  const fault = issues.find(({ severity }) => severity === 'error')?.message ?? null
  return { workflow_id, views, fault, inputs: plan && inputs, required, decisiveInputs: telling }
}

/** By input. Nothing stands for what comes along an edge, and nobody knows before the run. */
export type CallArguments = ReadonlyMap<string, unknown>

/** `given` is the value of an input of the workflow that calls. */
export function resolveCallArguments(
  { data, connected, runInputs: inputs }: NodeView,
  given: (input: PlanInput) => unknown,
): CallArguments {
  const passed = new Map<string, unknown>(Object.entries(data))
  for (const name of connected) {
    const input = inputs.get(name)
    passed.set(name, input && given(input))
  }
  passed.delete(CALL_TARGET_PROPERTY)
  return passed
}

/** The value of an input of the workflow that is called. */
export function createArgumentReader(passed: CallArguments): (input: PlanInput) => unknown {
  return ({ name, default: standard }) => (passed.has(name) ? passed.get(name) : standard)
}

/** The value of an input of the run itself, as the run has it. */
export function createRunInputReader(inputs: RunInputs): (input: PlanInput) => unknown {
  return (input) => {
    const given = resolveParam(input, inputs)
    return given ? given.value : input.default
  }
}

/** The inputs whose own value a run does not use. */
export function* findCoveredInputsSteps(inputs: RunInputs, { views }: Callee): Steps<Set<string>> {
  const covered = new Set<string>()
  yield* forEachSteps(views, ({ type, data }) => {
    if (type?.role !== 'input') return
    const input = { name: String(data.name), type: type.outputs[0]?.type ?? ANY_TYPE, stream: false }
    if (resolveParam(input, inputs)) covered.add(input.name)
  })
  return covered
}

/** A text that is the same for all calls from which the same is to be told. `numbers` has one for each value that was met. */
export function formatCallKey(
  { workflow_id, decisiveInputs: telling }: Callee,
  passed: CallArguments,
  numbers: Map<unknown, number>,
): string {
  const parts: (readonly [number, number])[] = []
  for (const [name, value] of passed) {
    const at = telling.get(name)
    if (at === undefined) continue
    const number = numbers.get(value) ?? numbers.size
    numbers.set(value, number)
    parts.push([at, number])
  }
  return JSON.stringify([workflow_id, ...parts.sort(([a], [b]) => a - b)])
}

/** Where the issues of a call are told: the workflow's name for people, and the node of the run. */
export interface PreflightCallSite {
  readonly name: string
  readonly at: string
  /** The property that names it. */
  readonly pin: string
}

/** What the inputs do not take, and what they need. It takes as many steps as inputs are passed, and issues told. */
export function validateCallArguments(
  { inputs, required }: Callee,
  view: NodeView,
  passed: CallArguments,
  to: PreflightCallSite,
  issues: IssueCollector,
): void {
  if (inputs === null) return
  let lacking = required.length
  for (const name of passed.keys()) {
    const input = inputs.get(name)
    if (input?.required) lacking--
    if (issues.isFull && !input) issues.countOmitted(1)
    else if (!input) issues.add(unknownInputIssue(name, to))
    else if (Object.hasOwn(view.data, name)) checkConstant(input, view.data[name], to, issues)
  }
  for (const name of lacking > 0 ? required : []) {
    if (lacking === 0 || issues.isFull) break
    if (passed.has(name)) continue
    issues.add(missingInputIssue(name, to))
    lacking--
  }
  issues.countOmitted(lacking)
}

function checkConstant(
  input: PlanInput,
  value: unknown,
  { name, at }: PreflightCallSite,
  issues: IssueCollector,
): void {
  for (const { code, message } of findInputProblems(input, { [input.name]: value }, '')) {
    const text = `The called workflow "${name}" does not take this: ${message}`
    issues.add(createErrorIssue(`called_workflow_${code}`, text, at, input.name))
  }
}

function unknownInputIssue(input: string, { name, at }: PreflightCallSite) {
  const text = `The called workflow "${name}" has no input "${input}".`
  return createErrorIssue('called_workflow_unknown_input', text, at, input)
}

function missingInputIssue(input: string, { name, at }: PreflightCallSite) {
  const text = `The called workflow "${name}" needs its input "${input}".`
  return createErrorIssue('called_workflow_missing_input', text, at, input)
}
