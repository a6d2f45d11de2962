// Formulas over the columns of a row and the inputs of a node, in the language of math.Formula.

import { suggestName } from '../../engine/node-api/did-you-mean.ts'
import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import { guardEvaluations, parseFormula } from '../shared/formula/parser.ts'
import { listColumns, readCell, type TableRow } from '../shared/table-rows.ts'
import { abbreviate } from '../shared/value-limits.ts'

const CONSTANTS: ReadonlySet<string> = new Set(['pi', 'e'])

/** The names in a formula that may stand for columns and inputs, which excludes functions. */
function listNames(formula: string): string[] {
  return [...new Set(Array.from(formula.matchAll(/(?<![\w.])[A-Za-z_]\w*(?!\w|\s*\()/g), ([name]) => name))]
}

/** A column's name in the form that formulas can use. */
function toFormulaName(column: string): string {
  return column.replaceAll(/\W/g, '_').replace(/^(?=\d)/, '_')
}

interface ColumnReference {
  name: string
  column: string
}

/** The column that each name of a formula means, apart from inputs. Throws NodeError `unknown_column`. */
function resolveColumns(formula: string, rows: readonly TableRow[], inputs: InputValues): ColumnReference[] {
  const names = listNames(formula).filter((name) => !Object.hasOwn(inputs, name))
  const first = rows[0] ?? {}
  const plain = names.every((name) => Object.hasOwn(first, name))
  const columns = plain ? names : listColumns(rows)
  const exact = new Set(columns)
  const columnsByName = new Map(plain ? [] : columns.map((column) => [toFormulaName(column), column]))
  const given = Object.keys(inputs)
  const what = given.length > 0 ? 'which is neither a column nor an input' : 'which is not a column'
  const found: ColumnReference[] = []
  for (const name of names) {
    const column = exact.has(name) ? name : columnsByName.get(name)
    if (column !== undefined) found.push({ name, column })
    else if (!CONSTANTS.has(name)) {
      const text = `The formula uses "${abbreviate(name)}", ${what}.${suggestName(abbreviate(name), [...columnsByName.keys(), ...given])}`
      throw new NodeError(text, 'unknown_column')
    }
  }
  return found
}

function requireNumber(value: unknown, what: () => string): number {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  const kind = getValueKind(value)
  const advice = kind === 'str' ? ' data.Convert turns texts into numbers.' : ''
  throw new NodeError(`${what()} is ${kind}, but a formula takes numbers.${advice}`, 'bad_input')
}

/** The values of the inputs that a formula uses. Throws NodeError if a value is not a number. */
function readInputs(formula: string, inputs: InputValues): Record<string, number> {
  const names: Record<string, number> = Object.create(null)
  for (const name of listNames(formula)) {
    if (Object.hasOwn(inputs, name)) names[name] = requireNumber(inputs[name], () => `Input "${abbreviate(name)}"`)
  }
  return names
}

/** Matches a name that a formula divides by. */
const DIVISOR = /[/%]\s*([A-Za-z_]\w*)(?!\w|\s*\()/g

function notFiniteError(
  formula: string,
  names: Readonly<Record<string, number>>,
  result: number,
  row: number,
): NodeError {
  const zero = Array.from(formula.matchAll(DIVISOR), ([, name]) => name!).find((name) => names[name] === 0)
  const divides = /[/%]/.test(formula) ? ': does it divide by 0?' : ', which is not a finite number.'
  const why = zero === undefined ? divides : `: is \`${abbreviate(zero)}\` 0?`
  return new NodeError(`Row ${row}: the formula gives ${result}${why}`, 'not_finite')
}

/**
 * The result of a formula for each row; null if a column that it uses is missing in that row. Inputs hide columns of the same name. Throws
 * NodeError.
 */
export function evaluateRows(formula: string, rows: readonly TableRow[], inputs: InputValues): (number | null)[] {
  const evaluate = parseFormula(formula)
  guardEvaluations(evaluate, rows.length)
  const names = readInputs(formula, inputs)
  if (rows.length === 0) return []
  const used = resolveColumns(formula, rows, inputs)
  return rows.map((row, index) => {
    for (const { name, column } of used) {
      const value = readCell(row, column)
      if (value === null) return null
      names[name] = requireNumber(value, () => `Column "${abbreviate(column)}" of row ${index + 1}`)
    }
    const result = evaluate(names)
    if (!Number.isFinite(result)) throw notFiniteError(formula, names, result, index + 1)
    return result
  })
}

/** The rules that all table formulas share, for descriptions. */
export const FORMULA_RULES =
  'a formula of math.Formula, with numbers only. It uses dynamic inputs and columns by name, with _ for characters other than letters and digits. A row without one of the columns has no result'
