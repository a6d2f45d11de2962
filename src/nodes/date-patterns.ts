// Patterns of dates, such as `dd.MM.yyyy HH:mm`: written and read by the same table of date-symbols.ts. Text stands in
// single quotes. Reading goes once from left to right and never back.
import { NodeError } from '../engine/node-type.ts'
import { cut } from '../short.ts'
import { FIELDS, type Field, type Found } from './date-symbols.ts'
import type { Words } from './date-words.ts'
import { shown } from './limits.ts'
import { memo } from './memo.ts'
import { inWholeMinutes, type Moment } from './moments.ts'

/** In characters. */
const LONGEST = 200

type Piece = { literal: string } | { field: Field; letters: string }

function field(letters: string): Piece {
  if (Object.hasOwn(FIELDS, letters)) return { field: FIELDS[letters]!, letters }
  const near = Object.keys(FIELDS).find((known) => known.toLowerCase() === letters.toLowerCase())
  const guess = near === undefined ? '' : ` Did you mean "${near}"?`
  const text = `"${shown(letters)}" means nothing in the pattern of a date.${guess} Text stands in single quotes: 'at'.`
  throw new NodeError(text, 'bad_pattern')
}

function parse(pattern: string): Piece[] {
  if (pattern.length > LONGEST) {
    throw new NodeError(`The pattern is longer than ${LONGEST} characters.`, 'bad_pattern')
  }
  return Array.from(pattern.matchAll(/'((?:[^']|'')*)'|([A-Za-z])\2*|[^A-Za-z']+|'/g), ([all, quoted, letter]) => {
    if (letter !== undefined) return field(all)
    if (all === "'") throw new NodeError('The pattern opens a single quote that nothing closes.', 'bad_pattern')
    if (quoted === undefined) return { literal: all }
    return { literal: quoted === '' ? "'" : quoted.replaceAll("''", "'") }
  })
}

const piecesOf = memo(parse)

/** Throws NodeError `bad_pattern` where nothing can be written by a pattern. */
export function checkWritten(pattern: string): void {
  piecesOf(pattern)
}

/** The same where nothing can be read by it. */
export function checkRead(pattern: string): void {
  for (const piece of piecesOf(pattern)) if ('field' in piece) requireReadable(piece)
}

function requireReadable({ field, letters }: { field: Field; letters: string }): NonNullable<Field['read']> {
  if (field.read) return field.read
  throw new NodeError(`"${letters}" can only be written, not read.`, 'bad_pattern')
}

/** A moment as a pattern has it. Throws NodeError `bad_pattern`. */
export function writePattern(moment: Moment, pattern: string, words: Words): string {
  const pieces = piecesOf(pattern)
  const told = pieces.some((piece) => 'field' in piece && /x/i.test(piece.letters)) ? inWholeMinutes(moment) : moment
  return pieces.map((piece) => ('literal' in piece ? piece.literal : piece.field.write(told, words))).join('')
}

/** What a text says by a pattern. Throws NodeError `bad_date` with the place at which it doesn't fit. */
export function readPattern(text: string, pattern: string, words: Words): Found {
  const found: Found = {}
  let at = 0
  const fail = (wanted: string) => {
    // The sign of the cut lets what is left of a secret be found.
    const there = at < text.length ? `"${cut(text.slice(at), 10)}" at position ${at + 1}` : 'its end'
    return new NodeError(`"${shown(text)}" does not fit the pattern: ${wanted}, not ${there}.`, 'bad_date')
  }
  for (const piece of piecesOf(pattern)) {
    if ('literal' in piece) {
      if (!text.startsWith(piece.literal, at)) throw fail(`"${shown(piece.literal)}" was expected`)
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
