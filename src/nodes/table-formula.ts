// Formulas over the columns of a row and the inputs of a node, in the language of math.Formula.
import { type Inputs, NodeError } from '../engine/node-type.ts'
import { hint } from '../engine/suggest.ts'
import { kindOf } from '../engine/values.ts'
import { formulaOf, guardEvaluations } from './formula.ts'
import { shown } from './limits.ts'
import { cell, columnsOf, type Row } from './rows.ts'

const CONSTANTS: ReadonlySet<string> = new Set(['pi', 'e'])

/** The names in a formula that stand for columns and inputs: those that nothing is called with. */
function namesIn(formula: string): string[] {
  return [...new Set(Array.from(formula.matchAll(/(?<![\w.])[A-Za-z_]\w*(?!\w|\s*\()/g), ([name]) => name))]
}

/** A column's name as formulas can say it. */
function sayable(column: string): string {
  return column.replaceAll(/\W/g, '_').replace(/^(?=\d)/, '_')
}

interface Source {
  name: string
  column: string
}

/** Which column each name of a formula means that no input has. Throws NodeError `unknown_column`. */
function sources(formula: string, rows: readonly Row[], inputs: Inputs): Source[] {
  const names = namesIn(formula).filter((name) => !Object.hasOwn(inputs, name))
  const first = rows[0] ?? {}
  const plain = names.every((name) => Object.hasOwn(first, name))
  const columns = plain ? names : columnsOf(rows)
  const exact = new Set(columns)
  const said = new Map(plain ? [] : columns.map((column) => [sayable(column), column]))
  const given = Object.keys(inputs)
  const what = given.length > 0 ? 'which is neither a column nor an input' : 'which is no column'
  const found: Source[] = []
  for (const name of names) {
    const column = exact.has(name) ? name : said.get(name)
    if (column !== undefined) found.push({ name, column })
    else if (!CONSTANTS.has(name)) {
      const text = `The formula uses "${shown(name)}", ${what}.${hint(shown(name), [...said.keys(), ...given])}`
      throw new NodeError(text, 'unknown_column')
    }
  }
  return found
}

function numberIn(value: unknown, what: () => string): number {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  const kind = kindOf(value)
  const advice = kind === 'str' ? ' data.Convert makes numbers of texts.' : ''
  throw new NodeError(`${what()} is ${kind}, and a formula takes numbers.${advice}`, 'bad_input')
}

/** The values of inputs that a formula uses. Throws NodeError where one is no number. */
function namedInputs(formula: string, inputs: Inputs): Record<string, number> {
  const names: Record<string, number> = Object.create(null)
  for (const name of namesIn(formula)) {
    if (Object.hasOwn(inputs, name)) names[name] = numberIn(inputs[name], () => `Input "${shown(name)}"`)
  }
  return names
}

/** What a formula divides by, where that is a name. */
const DIVISOR = /[/%]\s*([A-Za-z_]\w*)(?!\w|\s*\()/g

function notFinite(formula: string, names: Readonly<Record<string, number>>, result: number, row: number): NodeError {
  const zero = Array.from(formula.matchAll(DIVISOR), ([, name]) => name!).find((name) => names[name] === 0)
  const divides = /[/%]/.test(formula) ? ': is what it divides by 0?' : ', which is no finite number.'
  const why = zero === undefined ? divides : `: is \`${shown(zero)}\` 0?`
  return new NodeError(`Row ${row}: the formula gives ${result}${why}`, 'not_finite')
}

/**
 * What a formula makes of each row: null where a column that it uses is missing there. A name means an input, else a column.
 * Throws NodeError.
 */
export function evaluateRows(formula: string, rows: readonly Row[], inputs: Inputs): (number | null)[] {
  const evaluate = formulaOf(formula)
  guardEvaluations(evaluate, rows.length)
  const names = namedInputs(formula, inputs)
  if (rows.length === 0) return []
  const used = sources(formula, rows, inputs)
  return rows.map((row, index) => {
    for (const { name, column } of used) {
      const value = cell(row, column)
      if (value === null) return null
      names[name] = numberIn(value, () => `Column "${shown(column)}" of row ${index + 1}`)
    }
    const result = evaluate(names)
    if (!Number.isFinite(result)) throw notFinite(formula, names, result, index + 1)
    return result
  })
}

/** What the formulas of tables have in common, for their descriptions. */
export const FORMULA_RULES =
  'in the language of math.Formula, of numbers only; dynamic inputs and columns by name (with _ for what is no letter or digit); a row that lacks one of the columns has no result'
