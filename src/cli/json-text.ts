// JSON that people wrote: parsed, or refused with the place of the mistake.
import { deeperThan, MAX_DEPTH } from '../json.ts'
import { illFormedTexts } from '../problems.ts'

/** A text that is no JSON, or JSON that no request could hold. */
export class JsonTextError extends Error {
  /** From 1, or null where the mistake has no place. */
  readonly line: number | null
  readonly column: number | null
  constructor(message: string, line: number | null = null, column: number | null = null) {
    super(message)
    this.name = 'JsonTextError'
    this.line = line
    this.column = column
  }
}

/**
 * The value that a text stands for, within the limits of a request: 64 levels, well-formed Unicode.
 * @throws JsonTextError
 */
export function parseJsonText(text: string): unknown {
  const value = parse(text)
  if (deeperThan(value, MAX_DEPTH)) throw new JsonTextError(`It is nested deeper than ${MAX_DEPTH} levels.`)
  // Only an escape can make half a character.
  const [illFormed] = /\\ud/i.test(text) ? illFormedTexts(value, '') : []
  if (illFormed) throw new JsonTextError(`${illFormed.path || 'It'} ${illFormed.message}.`)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const message = (error as Error).message
    const place = placeOf(text, message)
    const before = text.slice(0, place)
    const line = before.split('\n').length
    throw new JsonTextError(reasonOf(message), line, place - before.lastIndexOf('\n'))
  }
}

/** What the engine says without the place and the excerpt, as a sentence. */
function reasonOf(message: string): string {
  if (message.startsWith('Unexpected end')) return 'It ends too early.'
  const reason = message.replace(/(?: in JSON)? at position .*$/s, '').replace(/, (?:\.\.\.)?".*$/s, '')
  return `${reason.replace(/ after JSON$/, ' after the end of the value')}.`
}

function placeOf(text: string, message: string): number {
  const position = / at position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  return hasUnexpectedToken(text) ? firstUnexpectedToken(text) : text.length
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    return (error as Error).message.startsWith('Unexpected token')
  }
}

/** Of an unexpected token V8 does not tell the place; but every text that ends before it fails otherwise, and every longer one as this one does. */
function firstUnexpectedToken(text: string): number {
  let without = 0
  let withIt = text.length
  while (withIt - without > 1) {
    const middle = (without + withIt) >>> 1
    if (hasUnexpectedToken(text.slice(0, middle))) withIt = middle
    else without = middle
  }
  return without
}
