// Conditions on the texts of rows: what they contain, and which patterns they match.
import type { BackgroundReader, CostlyExpression, Inputs } from '../engine/node-type.ts'
import { errorMessage } from './error-message.ts'
import { guardGathered } from './limits.ts'
import { costOfReading, type Matching, matching, readPattern, SharedWork } from './regex.ts'
import { cell, type Row } from './rows.ts'
import { search } from './text-search.ts'

export interface TextConditions {
  contains: Record<string, string>
  matches: Record<string, string>
  ignore_case: boolean
}

/** What a cell says. Lists and objects say nothing. */
function textIn(row: Row, column: string): string | null {
  const value = cell(row, column)
  return value === null || typeof value === 'object' ? null : String(value)
}

/** Throws NodeError where a pattern can't be used. */
export function readPatterns(matches: Record<string, string>, data: Readonly<Inputs>): void {
  for (const pattern of Object.values(matches)) readPattern(pattern, data)
}

/** Does so in a thread. */
function backgroundPatternsReader(
  matches: Record<string, string>,
  { ignore_case }: Readonly<Inputs>,
): BackgroundReader {
  return async ({ compute, owner, signal }) => {
    const inputs = { rows: [], where: {}, present: [], contains: {}, matches, ignore_case, formula: '' }
    return errorMessage(compute.run({ node_type: 'data.Filter', inputs, owner, signal }), 'bad_pattern')
  }
}

/** So many patterns are dear, whatever they are. */
const MANY = 500

function costOfPatterns(matches: Record<string, string>): number {
  const patterns = Object.values(matches)
  if (patterns.length > MANY) return Number.POSITIVE_INFINITY
  return patterns.reduce((cost, pattern) => cost + costOfReading(pattern), 0)
}

export const costlyPatterns: CostlyExpression<Record<string, string>> = {
  cost: costOfPatterns,
  reader: backgroundPatternsReader,
}

/** Says of a row whether all of its texts are as they should be. Throws NodeError `bad_pattern`, and where it is too much work. */
export function textsMeet({ contains, matches, ignore_case }: TextConditions): (row: Row) => boolean {
  const folded = (text: string) => (ignore_case ? text.toLowerCase() : text)
  const parts = Object.entries(contains).map(([column, part]) => ({ column, part: folded(part) }))
  const work = new SharedWork()
  const patterns = Object.entries(matches).map(([column, pattern]): [string, Matching] => {
    return [column, matching(pattern, ignore_case, work)]
  })
  let length = 0
  function meets(row: Row, column: string, isMet: (text: string) => boolean): boolean {
    const text = textIn(row, column)
    if (text === null) return false
    length += text.length
    guardGathered(length)
    return isMet(text)
  }
  return (row) =>
    parts.every(({ column, part }) => meets(row, column, (text) => search(folded(text), part) >= 0)) &&
    patterns.every(([column, isMatch]) => meets(row, column, isMatch))
}
