// Validates the parameters that a workflow is given.

import type { Plan, PlanInput } from '../engine/compile/compiler.ts'
import { conforms, getValueKind } from '../engine/node-api/values/type-conformance.ts'
import { describeKind, describeType, formatTypeLabel } from '../engine/node-api/values/type-label.ts'
import { resolveParam } from '../engine/runtime/run/params.ts'
import { MAX_PROBLEMS, type Problem } from '../errors.ts'
import { truncateText } from '../shared/text-truncation.ts'
import { appendToPointer } from '../shared/validation-problems.ts'

/** Number of inputs that a message about an unknown one names, and characters of each name. */
const MOST_NAMED = 20
const LONGEST_NAME = 80

/**
 * Returns the problems with `params`: unknown names, missing inputs, wrong types, numbers out of bounds. It stops at one problem more than
 * an error lists. `at` is the JSON pointer of `params`.
 */
export function findParamProblems(plan: Plan, params: Readonly<Record<string, unknown>>, at: string): Problem[] {
  const known = new Set(plan.inputs.map((input) => input.name))
  const unknown = Object.keys(params).filter((name) => !known.has(name))
  const problems = findUnknownInputs(plan, unknown.slice(0, MAX_PROBLEMS + 1), at)
  for (const input of plan.inputs) {
    if (problems.length > MAX_PROBLEMS) break
    problems.push(...findInputProblems(input, params, appendToPointer(at, input.name)))
  }
  return problems.slice(0, MAX_PROBLEMS + 1)
}

/** Returns the problems with unknown names. */
export function findUnknownInputs(plan: Plan, names: readonly string[], at: string): Problem[] {
  const has = describeInputs(plan.inputs)
  return names.map((name) => {
    const message = `The workflow has no input "${truncateText(name, LONGEST_NAME).toWellFormed()}". ${has}`
    return { path: appendToPointer(at, name), code: 'unknown_input', message }
  })
}

/** Returns the problems with one value for a streamed input; none if there is no such input. `at` is the JSON pointer of the value. */
export function findStreamedValueProblems(plan: Plan, name: string, value: unknown, at: string): Problem[] {
  const input = plan.inputByName.get(name)
  return input?.stream ? findValueProblems(input, value, at) : []
}

/**
 * Returns the problems with the value of one input, or with its absence. For a stream it stops at one problem more than an error lists.
 * `path` is the JSON pointer of the value.
 */
export function findInputProblems(
  input: PlanInput,
  params: Readonly<Record<string, unknown>>,
  path: string,
): Problem[] {
  const given = resolveParam(input, params)
  if (!given) {
    if (!input.required) return []
    return [
      {
        path,
        code: 'missing_input',
        message: `The input "${input.name}" (${formatTypeLabel(input.type)}) is required.`,
      },
    ]
  }
  if (!input.stream || !Array.isArray(given.value)) return findValueProblems(input, given.value, path)
  const problems: Problem[] = []
  for (const one of given.value) {
    if (problems.length > MAX_PROBLEMS) break
    problems.push(...findValueProblems(input, one, path))
  }
  return problems
}

function findValueProblems(input: PlanInput, value: unknown, path: string): Problem[] {
  if (!conforms(value, input.type)) {
    const message = `The input "${input.name}" takes ${describeType(input.type)}, and the value is ${describeKind(getValueKind(value))}.`
    return [{ path, code: 'input_type_mismatch', message }]
  }
  if (typeof value !== 'number') return []
  if (input.min !== undefined && value < input.min) {
    return [{ path, code: 'input_below_minimum', message: `The input "${input.name}" must be at least ${input.min}.` }]
  }
  if (input.max !== undefined && value > input.max) {
    return [{ path, code: 'input_above_maximum', message: `The input "${input.name}" must be at most ${input.max}.` }]
  }
  return []
}

/** This text is part of the message for each unknown name, so it is always short. */
function describeInputs(known: readonly PlanInput[]): string {
  if (known.length === 0) return 'It has no inputs.'
  const named = known.slice(0, MOST_NAMED).map(({ name }) => `"${truncateText(name, LONGEST_NAME)}"`)
  const left = known.length - named.length
  return `Its inputs are ${named.join(', ')}${left > 0 ? ` and ${left} more` : ''}.`
}
