// Whether a workflow accepts the parameters it is given.

import type { Plan, PlanInput } from '../engine/compile/compiler.ts'
import { conforms, getValueKind } from '../engine/node-api/values/type-conformance.ts'
import { describeKind, describeType, formatTypeLabel } from '../engine/node-api/values/type-label.ts'
import { resolveParam } from '../engine/runtime/run/params.ts'
import { MAX_PROBLEMS, type Problem } from '../errors.ts'
import { truncateText } from '../shared/text-truncation.ts'
import { appendToPointer } from '../shared/validation-problems.ts'

/** So many of a workflow's inputs are named where one is not known, each with so many characters. */
const MOST_NAMED = 20
const LONGEST_NAME = 80

/**
 * The problems with `params`: unknown names, missing ones, wrong types, numbers out of bounds; of more than an error lists, one more than it does. `at` is the
 * pointer of the record itself.
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

/** The problems with names that no input has. */
export function findUnknownInputs(plan: Plan, names: readonly string[], at: string): Problem[] {
  const has = describeInputs(plan.inputs)
  return names.map((name) => {
    const message = `The workflow has no input "${truncateText(name, LONGEST_NAME).toWellFormed()}". ${has}`
    return { path: appendToPointer(at, name), code: 'unknown_input', message }
  })
}

/** Every problem with one value for a streamed input; none where there is no such input. `at` is the pointer of the value. */
export function findStreamedValueProblems(plan: Plan, name: string, value: unknown, at: string): Problem[] {
  const input = plan.inputByName.get(name)
  return input?.stream ? findValueProblems(input, value, at) : []
}

/** The problems with what one input is given: nothing, or a value; of those with values of a stream no more than an error lists, and one more. `path` is the pointer of the value. */
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

/** It stands in the message of each name that is not known, so it is never long. */
function describeInputs(known: readonly PlanInput[]): string {
  if (known.length === 0) return 'It has no inputs.'
  const named = known.slice(0, MOST_NAMED).map(({ name }) => `"${truncateText(name, LONGEST_NAME)}"`)
  const left = known.length - named.length
  return `Its inputs are ${named.join(', ')}${left > 0 ? ` and ${left} more` : ''}.`
}
