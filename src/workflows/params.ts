// Whether a workflow accepts the parameters it is given.
import type { Plan, PlanInput } from '../engine/plan.ts'
import { typeText } from '../engine/types.ts'
import { conforms, kindOf } from '../engine/values.ts'
import type { Problem } from '../errors.ts'
import { pointer } from '../problems.ts'

/** Every problem with `params`: unknown names, missing ones, wrong types, numbers out of bounds. `at` is the pointer of the record itself. */
export function paramProblems(plan: Plan, params: Readonly<Record<string, unknown>>, at: string): Problem[] {
  const known = new Set(plan.inputs.map((input) => input.name))
  const unknown = Object.keys(params)
    .filter((name) => !known.has(name))
    .map(
      (name): Problem => ({
        path: pointer(at, name),
        code: 'unknown_input',
        message: unknownMessage(name, [...known]),
      }),
    )
  const given = (name: string) => (Object.hasOwn(params, name) ? params[name] : undefined)
  const wrong = plan.inputs.flatMap((input) => inputProblems(input, given(input.name), pointer(at, input.name)))
  return [...unknown, ...wrong]
}

/** Every problem with one value for a streamed input; none where there is no such input. `at` is the pointer of the value. */
export function streamedProblems(plan: Plan, name: string, value: unknown, at: string): Problem[] {
  const input = plan.inputs.find((one) => one.stream && one.name === name)
  return input ? valueProblems(input, value, at) : []
}

function inputProblems(input: PlanInput, value: unknown, path: string): Problem[] {
  // Null is a value where anything is one, and says elsewhere that nothing is given.
  if (value === undefined || (value === null && input.type.type !== 'any')) {
    if (!input.required) return []
    return [
      { path, code: 'missing_input', message: `The input "${input.name}" (${typeText(input.type)}) is required.` },
    ]
  }
  const values = input.stream && Array.isArray(value) ? value : [value]
  return values.flatMap((one) => valueProblems(input, one, path))
}

function valueProblems(input: PlanInput, value: unknown, path: string): Problem[] {
  if (!conforms(value, input.type)) {
    const message = `The input "${input.name}" takes ${typeText(input.type)}, and the value is ${kindOf(value)}.`
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

function unknownMessage(name: string, known: readonly string[]): string {
  const has = known.length === 0 ? 'It has no inputs.' : `Its inputs are ${known.map((one) => `"${one}"`).join(', ')}.`
  return `The workflow has no input "${name}". ${has}`
}
