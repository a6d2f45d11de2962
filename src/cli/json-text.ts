// JSON that people wrote: parsed, or refused with the place of the mistake.
import { deeperThan, MAX_DEPTH } from '../json.ts'
import { jsonMistake } from '../json-mistake.ts'
import { wideInUtf8 } from '../payloads/wide-integers.ts'
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
 * The value that a text stands for, within the limits of a request: 64 levels, well-formed Unicode, no integer beyond 2^53.
 * @throws JsonTextError
 */
export function parseJsonText(text: string): unknown {
  const value = parse(text)
  if (deeperThan(value, MAX_DEPTH)) throw new JsonTextError(`It is nested deeper than ${MAX_DEPTH} levels.`)
  // Only an escape can make half a character.
  const [illFormed] = /\\ud/i.test(text) ? illFormedTexts(value, '') : []
  if (illFormed) throw new JsonTextError(`${illFormed.path || 'It'} ${illFormed.message}.`)
  const [wide] = wideInUtf8(Buffer.from(text), '')
  if (wide) throw new JsonTextError(`${wide.path || 'It'} ${wide.message}.`)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const { reason, line, column } = jsonMistake(text, error)
    throw new JsonTextError(`${reason}.`, line, column)
  }
}
