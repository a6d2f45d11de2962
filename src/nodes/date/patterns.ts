// Patterns of dates, such as `dd.MM.yyyy HH:mm`, written and read with the table of pattern-fields.ts. Text stands in single quotes.
// Reading goes from left to right without backtracking.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { truncateText } from '../../shared/text-truncation.ts'
import type { DateWords } from '../shared/date-locale.ts'
import { withWholeMinuteOffset, type ZonedMoment } from '../shared/date-time.ts'
import { memoizeByText } from '../shared/memoize.ts'
import { abbreviate } from '../shared/value-limits.ts'
import { PATTERN_FIELDS, type ParsedDateFields, type PatternField } from './pattern-fields.ts'

/** In characters. */
const LONGEST_PATTERN = 200

type PatternPiece = { literal: string } | { field: PatternField; letters: string }

function parseField(letters: string): PatternPiece {
  if (Object.hasOwn(PATTERN_FIELDS, letters)) return { field: PATTERN_FIELDS[letters]!, letters }
  const near = Object.keys(PATTERN_FIELDS).find((known) => known.toLowerCase() === letters.toLowerCase())
  const guess = near === undefined ? '' : ` Did you mean "${near}"?`
  const text = `"${abbreviate(letters)}" has no meaning in a date pattern.${guess} Put text in single quotes, such as 'at'.`
  throw new NodeError(text, 'bad_pattern')
}

function parsePattern(pattern: string): PatternPiece[] {
  if (pattern.length > LONGEST_PATTERN) {
    throw new NodeError(`The pattern is longer than ${LONGEST_PATTERN} characters.`, 'bad_pattern')
  }
  return Array.from(pattern.matchAll(/'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'/g), ([all, quoted, letter]) => {
    if (letter !== undefined) return parseField(all)
    if (all === "'") throw new NodeError('The pattern has a single quote that is not closed.', 'bad_pattern')
    if (quoted === undefined) return { literal: all }
    return { literal: quoted === '' ? "'" : quoted.replaceAll("''", "'") }
  })
}

const compilePattern = memoizeByText(parsePattern)

/** Throws NodeError `bad_pattern` if the pattern cannot write dates. */
export function checkWritePattern(pattern: string): void {
  compilePattern(pattern)
}

/** Throws NodeError `bad_pattern` if the pattern cannot read dates. */
export function checkReadPattern(pattern: string): void {
  for (const piece of compilePattern(pattern)) if ('field' in piece) requireReadable(piece)
}

function requireReadable({
  field,
  letters,
}: {
  field: PatternField
  letters: string
}): NonNullable<PatternField['read']> {
  if (field.read) return field.read
  throw new NodeError(`"${letters}" can only be written, not read.`, 'bad_pattern')
}

/** Writes a moment by a pattern. Throws NodeError `bad_pattern`. */
export function writeDateByPattern(moment: ZonedMoment, pattern: string, words: DateWords): string {
  const pieces = compilePattern(pattern)
  const shown = pieces.some((piece) => 'field' in piece && /x/i.test(piece.letters))
    ? withWholeMinuteOffset(moment)
    : moment
  return pieces.map((piece) => ('literal' in piece ? piece.literal : piece.field.write(shown, words))).join('')
}

/** Reads the fields of a text by a pattern. Throws NodeError `bad_date` with the position of the mismatch. */
export function readPatternFields(text: string, pattern: string, words: DateWords): ParsedDateFields {
  const found: ParsedDateFields = {}
  let at = 0
  const fail = (wanted: string) => {
    // The ellipsis marks the cut, so that redaction finds the rest of a secret that was cut.
    const there = at < text.length ? `"${truncateText(text.slice(at), 10)}" at position ${at + 1}` : 'its end'
    return new NodeError(`"${abbreviate(text)}" does not fit the pattern: ${wanted}, not ${there}.`, 'bad_date')
  }
  for (const piece of compilePattern(pattern)) {
    if ('literal' in piece) {
      if (!text.startsWith(piece.literal, at)) throw fail(`"${abbreviate(piece.literal)}" was expected`)
      at += piece.literal.length
      continue
    }
    const length = requireReadable(piece)(text, at, found, words)
    if (length === null) throw fail(`"${piece.letters}" was expected`)
    at += length
  }
  if (at < text.length) throw fail('the end was expected')
  return found
}
