// Conditions on the texts of rows: what they contain, and which patterns they match.
import type { BackgroundReader, Inputs } from '../engine/node-type.ts'
import { errorMessage } from './error-message.ts'
import { guardGathered } from './limits.ts'
import { isQuick, type Matching, matching, readPattern, SharedWork } from './regex.ts'
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

/** Of so many patterns it is looked beforehand whether they can be used. */
const FEW = 3

/** Throws NodeError where a pattern can't be used, as far as that is found quickly. */
export function readPatterns(matches: Record<string, string>, data: Readonly<Inputs>): void {
  for (const pattern of Object.values(matches).slice(0, FEW)) readPattern(pattern, data)
}

/** The reader for all patterns if `readPatterns` skips some of them. */
export function backgroundPatternsReader(
  matches: Record<string, string>,
  { ignore_case }: Readonly<Inputs>,
): BackgroundReader | null {
  const patterns = Object.values(matches)
  if (patterns.length <= FEW && patterns.every(isQuick)) return null
  return async ({ compute, owner, signal }) => {
    const inputs = { rows: [], where: {}, present: [], contains: {}, matches, ignore_case, formula: '' }
    return errorMessage(compute.run({ node_type: 'data.Filter', inputs, owner, signal }), 'bad_pattern')
  }
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
