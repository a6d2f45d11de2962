// What a node passes to the workflow that it calls: the values that are known, whether the inputs take them, and whether any is lacking.
import { givenParam } from '../engine/given.ts'
import type { PlanInput } from '../engine/plan.ts'
import { ANY } from '../engine/types.ts'
import { forEachStep, type Steps } from '../time-slices.ts'
import { inputProblems } from '../workflows/params.ts'
import type { CompiledGraph } from '../workflows/plans.ts'
import { errorIssue, type Inputs, type Issues } from './preflight-issues.ts'
import type { NodeView } from './preflight-nodes.ts'

export const CALL = 'workflow.Call'
export const TARGET = 'workflow_id'

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
  readonly telling: ReadonlyMap<string, number>
}

export function* calleeSteps(
  workflow_id: string,
  { plan, issues }: CompiledGraph,
  views: readonly NodeView[],
): Steps<Callee> {
  const inputs = new Map<string, PlanInput>()
  const required: string[] = []
  yield* forEachStep(plan?.inputs ?? [], (input) => {
    inputs.set(input.name, input)
    if (input.required) required.push(input.name)
  })
  const telling = new Map<string, number>()
  yield* forEachStep(views, ({ type, node_type, given }) => {
    if (!type?.needs && node_type !== CALL) return
    for (const { name } of given.values()) if (!telling.has(name)) telling.set(name, telling.size)
  })
  const fault = issues.find(({ severity }) => severity === 'error')?.message ?? null
  return { workflow_id, views, fault, inputs: plan && inputs, required, telling }
}

/** By input. Nothing stands for what comes along an edge, and nobody knows before the run. */
export type Passed = ReadonlyMap<string, unknown>

/** `given` is the value of an input of the workflow that calls. */
export function passedBy({ data, connected, given: inputs }: NodeView, given: (input: PlanInput) => unknown): Passed {
  const passed = new Map<string, unknown>(Object.entries(data))
  for (const name of connected) {
    const input = inputs.get(name)
    passed.set(name, input && given(input))
  }
  passed.delete(TARGET)
  return passed
}

/** The value of an input of the workflow that is called. */
export function givenBy(passed: Passed): (input: PlanInput) => unknown {
  return ({ name, default: standard }) => (passed.has(name) ? passed.get(name) : standard)
}

/** The value of an input of the run itself, as the run has it. */
export function givenIn(inputs: Inputs): (input: PlanInput) => unknown {
  return (input) => {
    const given = givenParam(input, inputs)
    return given ? given.value : input.default
  }
}

/** The inputs whose own value a run does not use. */
export function* coveredSteps(inputs: Inputs, { views }: Callee): Steps<Set<string>> {
  const covered = new Set<string>()
  yield* forEachStep(views, ({ type, data }) => {
    if (type?.role !== 'input') return
    const input = { name: String(data.name), type: type.outputs[0]?.type ?? ANY, stream: false }
    if (givenParam(input, inputs)) covered.add(input.name)
  })
  return covered
}

/** A text that is the same for all calls from which the same is to be told. `numbers` has one for each value that was met. */
export function keyOf({ workflow_id, telling }: Callee, passed: Passed, numbers: Map<unknown, number>): string {
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
export interface Place {
  readonly name: string
  readonly at: string
  /** The property that names it. */
  readonly pin: string
}

/** What the inputs do not take, and what they need. It takes as many steps as inputs are passed, and issues told. */
export function checkPassed(
  { inputs, required }: Callee,
  view: NodeView,
  passed: Passed,
  to: Place,
  issues: Issues,
): void {
  if (inputs === null) return
  let lacking = required.length
  for (const name of passed.keys()) {
    const input = inputs.get(name)
    if (input?.required) lacking--
    if (issues.full && !input) issues.leave(1)
    else if (!input) issues.add(unknownInput(name, to))
    else if (Object.hasOwn(view.data, name)) checkConstant(input, view.data[name], to, issues)
  }
  for (const name of lacking > 0 ? required : []) {
    if (lacking === 0 || issues.full) break
    if (passed.has(name)) continue
    issues.add(missingInput(name, to))
    lacking--
  }
  issues.leave(lacking)
}

function checkConstant(input: PlanInput, value: unknown, { name, at }: Place, issues: Issues): void {
  for (const { code, message } of inputProblems(input, { [input.name]: value }, '')) {
    const text = `The called workflow "${name}" does not take this: ${message}`
    issues.add(errorIssue(`called_workflow_${code}`, text, at, input.name))
  }
}

function unknownInput(input: string, { name, at }: Place) {
  const text = `The called workflow "${name}" has no input "${input}".`
  return errorIssue('called_workflow_unknown_input', text, at, input)
}

function missingInput(input: string, { name, at }: Place) {
  const text = `The called workflow "${name}" needs its input "${input}".`
  return errorIssue('called_workflow_missing_input', text, at, input)
}
