// The parameters of a run, from the command line: `--param name=value`, `--params FILE`, and the workflow's own record.
// src/workflows/param-validation.ts decides whether the workflow accepts them.
import type { Plan, PlanInput } from '../../engine/compile/compiler.ts'
import { findNearest } from '../../engine/node-api/did-you-mean.ts'
import type { Problem } from '../../errors.ts'
import { appendToPointer } from '../../shared/validation-problems.ts'
import { findParamProblems } from '../../workflows/param-validation.ts'
import { displayPath, type InputReader } from '../shared/input-reader.ts'
import { JsonInputError, parseJsonInput } from '../shared/json-input.ts'
import { CommandError, EXIT_CODES, UsageError } from '../shared/terminal.ts'

type Params = Record<string, unknown>

export interface ParamArguments {
  /** `name=value`, `name=@file`, `name=@@text`, in the order given. */
  readonly param: readonly string[]
  /** A JSON file, or `-`. */
  readonly params: string | null
}

/**
 * Every parameter of a run: those of the record, replaced by those of the file, replaced by single ones.
 * @throws UsageError, CommandError invalid with every problem at once
 */
export async function readParams(plan: Plan, own: Params, given: ParamArguments, reader: InputReader): Promise<Params> {
  const texts = await readParamTexts(given.param, reader)
  const file = given.params === null ? {} : await readParamsFile(given.params, reader)
  const notJson = new Map<string, string>()
  const single = [...texts].map(([name, values]) => {
    const input = plan.inputByName.get(name)
    if (values.length > 1 && !input?.stream) throw repeatedParamError(name, input)
    const read = values.map((text) => parseParamText(text, input, (why) => notJson.set(name, why)))
    return [name, input?.stream ? read : read[0]] as const
  })
  // Made of entries, so that every name is an ordinary key.
  const params: Params = Object.fromEntries([...Object.entries(own), ...Object.entries(file), ...single])
  const problems = findParamProblems(plan, params, '').map((problem) => explainProblem(problem, plan, notJson))
  if (problems.length > 0)
    throw new CommandError(EXIT_CODES.invalid, 'the parameters do not fit the workflow', problems)
  return params
}

function repeatedParamError(name: string, input: PlanInput | undefined): UsageError {
  const why = input ? ': only a streamed input takes several values' : ''
  return new UsageError(`--param ${name} is given twice${why}`)
}

async function readParamTexts(given: readonly string[], reader: InputReader): Promise<Map<string, string[]>> {
  const texts = new Map<string, string[]>()
  for (const one of given) {
    const at = one.indexOf('=')
    if (at < 1) throw new UsageError(`--param takes name=value, not "${one}"`)
    const name = one.slice(0, at)
    const text = one.slice(at + 1)
    const list = texts.get(name) ?? []
    list.push(text.startsWith('@') ? await readTextAfterAt(text.slice(1), name, reader) : text)
    texts.set(name, list)
  }
  return texts
}

/** `@file` is the text of a file, `@@text` a text that begins with @. */
async function readTextAfterAt(rest: string, name: string, reader: InputReader): Promise<string> {
  if (rest.startsWith('@')) return rest
  if (rest === '')
    throw new UsageError(`--param ${name}=@ needs the name of a file (a text that begins with @ is written @@)`)
  return reader.text(rest)
}

async function readParamsFile(path: string, reader: InputReader): Promise<Params> {
  const value = await reader.json(path)
  if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Params
  throw new CommandError(EXIT_CODES.invalid, `${displayPath(path)} must hold one JSON object: parameters by name`)
}

/** Texts stay unchanged; all other values are JSON. Invalid JSON stays a text, which an input of any type accepts, and every other input refuses. */
function parseParamText(text: string, input: PlanInput | undefined, refused: (why: string) => void): unknown {
  const kind = input?.type.type ?? 'any'
  if (kind === 'str' || (kind === 'enum' && input?.type.values.includes(text))) return text
  try {
    return parseJsonInput(text)
  } catch (error) {
    if (!(error instanceof JsonInputError)) throw error
    refused(error.line === null ? error.message : `${error.message} (line ${error.line}, column ${error.column})`)
    return text
  }
}

/** A problem with the hints that only the terminal has. */
function explainProblem(problem: Problem, plan: Plan, notJson: ReadonlyMap<string, string>): Problem {
  if (problem.code === 'unknown_input') {
    const near = suggestInput(problem.path, plan)
    return near === null ? problem : { ...problem, message: `${problem.message} Did you mean "${near}"?` }
  }
  const why = [...notJson].find(([name]) => appendToPointer('', name) === problem.path)?.[1]
  if (why === undefined || problem.code !== 'input_type_mismatch') return problem
  return { ...problem, message: `${problem.message} It is not valid JSON: ${why}` }
}

function suggestInput(path: string, plan: Plan): string | null {
  const written = path.slice(1).replaceAll('~1', '/').replaceAll('~0', '~')
  return findNearest(
    written,
    plan.inputs.map((input) => input.name),
  )
}
