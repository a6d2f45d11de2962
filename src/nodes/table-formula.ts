// Formulas over the columns of a row, in the language of math.Formula.
import { NodeError } from '../engine/node-type.ts'
import { hint } from '../engine/suggest.ts'
import { kindOf } from '../engine/values.ts'
import { parseFormula } from './formula.ts'
import { shown } from './limits.ts'
import { memo } from './memo.ts'
import { cell, columnsOf, type Row } from './rows.ts'
import { finite } from './values.ts'

const formulaOf = memo(parseFormula)

const CONSTANTS: ReadonlySet<string> = new Set(['pi', 'e'])

/** The names in a formula that stand for columns: those that nothing is called with. */
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

/** Which column each name of a formula means. Throws NodeError `unknown_column`. */
function sources(formula: string, rows: readonly Row[]): Source[] {
  const names = namesIn(formula)
  const first = rows[0] ?? {}
  const plain = names.every((name) => Object.hasOwn(first, name))
  const columns = plain ? names : columnsOf(rows)
  const exact = new Set(columns)
  const said = new Map(plain ? [] : columns.map((column) => [sayable(column), column]))
  const found: Source[] = []
  for (const name of names) {
    const column = exact.has(name) ? name : said.get(name)
    if (column !== undefined) found.push({ name, column })
    else if (!CONSTANTS.has(name)) {
      const text = `The formula uses "${shown(name)}", which is no column.${hint(shown(name), said.keys())}`
      throw new NodeError(text, 'unknown_column')
    }
  }
  return found
}

function numberIn(value: unknown, column: string, index: number): number {
  if (typeof value === 'number') return value
  if (typeof value === 'boolean') return value ? 1 : 0
  const kind = kindOf(value)
  const advice = kind === 'str' ? ' data.Convert makes numbers of texts.' : ''
  const text = `Column "${shown(column)}" of row ${index + 1} is ${kind}, and a formula takes numbers.${advice}`
  throw new NodeError(text, 'bad_input')
}

/** What a formula makes of each row: null where a column that it uses is missing there. Throws NodeError. */
export function evaluateRows(formula: string, rows: readonly Row[]): (number | null)[] {
  const evaluate = formulaOf(formula)
  if (rows.length === 0) return []
  const used = sources(formula, rows)
  const names: Record<string, number> = Object.create(null)
  return rows.map((row, index) => {
    for (const { name, column } of used) {
      const value = cell(row, column)
      if (value === null) return null
      names[name] = numberIn(value, column, index)
    }
    return finite(evaluate(names), `The result of the formula in row ${index + 1}`)
  })
}

/** What the formulas of tables have in common, for their descriptions. */
export const FORMULA_RULES =
  'columns by name (with _ for what is no letter or digit); a row that lacks one of them has no result'
