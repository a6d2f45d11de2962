// Checks what a node passes to the workflow that it calls: which values are known, whether the inputs accept them, and which inputs are
// missing.

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

/** A called workflow, with the facts that its calls are checked against. */
export interface Callee {
  readonly workflow_id: string
  readonly views: readonly NodeView[]
  /** Why the workflow cannot run, or null. */
  readonly fault: string | null
  /** Null if the workflow cannot run: then its inputs are not known. */
  readonly inputs: ReadonlyMap<string, PlanInput> | null
  readonly required: readonly string[]
  /** The inputs whose values decide what its nodes need, each with a number. */
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
  const decisiveInputs = new Map<string, number>()
  yield* forEachSteps(views, ({ type, node_type, runInputs }) => {
    if (!type?.needs && node_type !== CALL_NODE_TYPE) return
    for (const { name } of runInputs.values())
      if (!decisiveInputs.has(name)) decisiveInputs.set(name, decisiveInputs.size)
  })
  const fault = issues.find(({ severity }) => severity === 'error')?.message ?? null
  return { workflow_id, views, fault, inputs: plan && inputs, required, decisiveInputs }
}

/** The arguments by input. `undefined` stands for a value that comes along an edge, and is known only during the run. */
export type CallArguments = ReadonlyMap<string, unknown>

/** `given` returns the value of an input of the calling workflow. */
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

/** Returns the reader for inputs of the called workflow. */
export function createArgumentReader(passed: CallArguments): (input: PlanInput) => unknown {
  return ({ name, default: standard }) => (passed.has(name) ? passed.get(name) : standard)
}

/** Returns the reader for inputs of the run itself. */
export function createRunInputReader(inputs: RunInputs): (input: PlanInput) => unknown {
  return (input) => {
    const given = resolveParam(input, inputs)
    return given ? given.value : input.default
  }
}

/** Returns the inputs whose default the run does not use. */
export function* findCoveredInputsSteps(inputs: RunInputs, { views }: Callee): Steps<Set<string>> {
  const covered = new Set<string>()
  yield* forEachSteps(views, ({ type, data }) => {
    if (type?.role !== 'input') return
    const input = { name: String(data.name), type: type.outputs[0]?.type ?? ANY_TYPE, stream: false }
    if (resolveParam(input, inputs)) covered.add(input.name)
  })
  return covered
}

/** Returns a key that is equal for all calls with the same requirements. `numbers` assigns a number to each value. */
export function formatCallKey(
  { workflow_id, decisiveInputs }: Callee,
  passed: CallArguments,
  numbers: Map<unknown, number>,
): string {
  const parts: (readonly [number, number])[] = []
  for (const [name, value] of passed) {
    const at = decisiveInputs.get(name)
    if (at === undefined) continue
    const number = numbers.get(value) ?? numbers.size
    numbers.set(value, number)
    parts.push([at, number])
  }
  return JSON.stringify([workflow_id, ...parts.sort(([a], [b]) => a - b)])
}

/** Where issues of a call are reported: the displayed name of the workflow, and the node of the run. */
export interface PreflightCallSite {
  readonly name: string
  readonly at: string
  /** The property that names the workflow. */
  readonly pin: string
}

/**
 * Reports arguments that the inputs do not accept, and missing inputs. The work is proportional to the number of arguments and reported
 * issues.
 */
export function validateCallArguments(
  { inputs, required }: Callee,
  view: NodeView,
  passed: CallArguments,
  site: PreflightCallSite,
  issues: IssueCollector,
): void {
  if (inputs === null) return
  let lacking = required.length
  for (const name of passed.keys()) {
    const input = inputs.get(name)
    if (input?.required) lacking--
    if (issues.isFull && !input) issues.countOmitted(1)
    else if (!input) issues.add(unknownInputIssue(name, site))
    else if (Object.hasOwn(view.data, name)) checkConstant(input, view.data[name], site, issues)
  }
  for (const name of lacking > 0 ? required : []) {
    if (lacking === 0 || issues.isFull) break
    if (passed.has(name)) continue
    issues.add(missingInputIssue(name, site))
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
    const text = `The called workflow "${name}" does not accept this: ${message}`
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
