// Whether a workflow accepts the parameters it is given.
import { givenParam } from '../engine/given.ts'
import type { Plan, PlanInput } from '../engine/plan.ts'
import { kindWords, typeLabel, typeWords } from '../engine/type-label.ts'
import { conforms, kindOf } from '../engine/values.ts'
import { MOST_PROBLEMS, type Problem } from '../errors.ts'
import { pointer } from '../problems.ts'
import { cut } from '../short.ts'

/** So many of a workflow's inputs are named where one is not known, each with so many characters. */
const MOST_NAMED = 20
const LONGEST_NAME = 80

/**
 * The problems with `params`: unknown names, missing ones, wrong types, numbers out of bounds; of more than an error lists, one more than it does. `at` is the
 * pointer of the record itself.
 */
export function paramProblems(plan: Plan, params: Readonly<Record<string, unknown>>, at: string): Problem[] {
  const known = new Set(plan.inputs.map((input) => input.name))
  const unknown = Object.keys(params).filter((name) => !known.has(name))
  const problems = unknownInputs(plan, unknown.slice(0, MOST_PROBLEMS + 1), at)
  for (const input of plan.inputs) {
    if (problems.length > MOST_PROBLEMS) break
    problems.push(...inputProblems(input, params, pointer(at, input.name)))
  }
  return problems.slice(0, MOST_PROBLEMS + 1)
}

/** The problems with names that no input has. */
export function unknownInputs(plan: Plan, names: readonly string[], at: string): Problem[] {
  const has = inputsText(plan.inputs)
  return names.map((name) => {
    const message = `The workflow has no input "${cut(name, LONGEST_NAME).toWellFormed()}". ${has}`
    return { path: pointer(at, name), code: 'unknown_input', message }
  })
}

/** Every problem with one value for a streamed input; none where there is no such input. `at` is the pointer of the value. */
export function streamedProblems(plan: Plan, name: string, value: unknown, at: string): Problem[] {
  const input = plan.inputByName.get(name)
  return input?.stream ? valueProblems(input, value, at) : []
}

/** The problems with what one input is given: nothing, or a value; of those with values of a stream no more than an error lists, and one more. `path` is the pointer of the value. */
export function inputProblems(input: PlanInput, params: Readonly<Record<string, unknown>>, path: string): Problem[] {
  const given = givenParam(input, params)
  if (!given) {
    if (!input.required) return []
    return [
      { path, code: 'missing_input', message: `The input "${input.name}" (${typeLabel(input.type)}) is required.` },
    ]
  }
  if (!input.stream || !Array.isArray(given.value)) return valueProblems(input, given.value, path)
  const problems: Problem[] = []
  for (const one of given.value) {
    if (problems.length > MOST_PROBLEMS) break
    problems.push(...valueProblems(input, one, path))
  }
  return problems
}

function valueProblems(input: PlanInput, value: unknown, path: string): Problem[] {
  if (!conforms(value, input.type)) {
    const message = `The input "${input.name}" takes ${typeWords(input.type)}, and the value is ${kindWords(kindOf(value))}.`
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
function inputsText(known: readonly PlanInput[]): string {
  if (known.length === 0) return 'It has no inputs.'
  const named = known.slice(0, MOST_NAMED).map(({ name }) => `"${cut(name, LONGEST_NAME)}"`)
  const left = known.length - named.length
  return `Its inputs are ${named.join(', ')}${left > 0 ? ` and ${left} more` : ''}.`
}
