// Conditions on texts of rows: contained texts and regular expressions.

import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { BackgroundExpressionReader, CostlyExpression } from '../../engine/node-api/node-facts.ts'
import { checkRegexPattern, costOfReading, createTextMatcher, MatchBudget, type TextMatcher } from '../regex-nodes.ts'
import { catchErrorMessage } from '../shared/node-error-message.ts'
import { readCell, type TableRow } from '../shared/table-rows.ts'
import { findText } from '../shared/text-search.ts'
import { guardTotalText } from '../shared/value-limits.ts'

export interface TextConditions {
  contains: Record<string, string>
  matches: Record<string, string>
  ignore_case: boolean
}

/** The text of a cell. Lists and objects have none. */
function cellText(row: TableRow, column: string): string | null {
  const value = readCell(row, column)
  return value === null || typeof value === 'object' ? null : String(value)
}

/** Throws NodeError if a pattern is invalid. */
export function checkRegexPatterns(matches: Record<string, string>, data: Readonly<InputValues>): void {
  for (const pattern of Object.values(matches)) checkRegexPattern(pattern, data)
}

/** Checks patterns in a worker. */
function backgroundRegexesReader(
  matches: Record<string, string>,
  { ignore_case }: Readonly<InputValues>,
): BackgroundExpressionReader {
  return async ({ compute, owner, signal }) => {
    const inputs = { rows: [], where: {}, present: [], contains: {}, matches, ignore_case, formula: '' }
    return catchErrorMessage(compute.run({ node_type: 'data.Filter', inputs, owner, signal }), 'bad_pattern')
  }
}

/** More patterns count as expensive, whatever they are. */
const MANY = 500

function costOfPatterns(matches: Record<string, string>): number {
  const patterns = Object.values(matches)
  if (patterns.length > MANY) return Number.POSITIVE_INFINITY
  return patterns.reduce((cost, pattern) => cost + costOfReading(pattern), 0)
}

export const costlyPatterns: CostlyExpression<Record<string, string>> = {
  cost: costOfPatterns,
  reader: backgroundRegexesReader,
}

/** Tests whether a row meets all text conditions. Throws NodeError `bad_pattern`, and an error if the work exceeds its limit. */
export function createTextFilter({ contains, matches, ignore_case }: TextConditions): (row: TableRow) => boolean {
  const folded = (text: string) => (ignore_case ? text.toLowerCase() : text)
  const parts = Object.entries(contains).map(([column, part]) => ({ column, part: folded(part) }))
  const work = new MatchBudget()
  const patterns = Object.entries(matches).map(([column, pattern]): [string, TextMatcher] => {
    return [column, createTextMatcher(pattern, ignore_case, work)]
  })
  let length = 0
  function meets(row: TableRow, column: string, isMet: (text: string) => boolean): boolean {
    const text = cellText(row, column)
    if (text === null) return false
    length += text.length
    guardTotalText(length)
    return isMet(text)
  }
  return (row) =>
    parts.every(({ column, part }) => meets(row, column, (text) => findText(folded(text), part) >= 0)) &&
    patterns.every(([column, isMatch]) => meets(row, column, isMatch))
}
