// JSON that people wrote: parsed, or refused with the place of the mistake.

import { findWideIntegersInUtf8 } from '../../payloads/wide-integers.ts'
import { isDeeperThan, MAX_JSON_DEPTH } from '../../shared/json.ts'
import { locateJsonSyntaxError } from '../../shared/json-syntax-error.ts'
import { findIllFormedTexts } from '../../shared/validation-problems.ts'

/** A text that is no JSON, or JSON that no request could hold. */
export class JsonInputError extends Error {
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
export function parseJsonInput(text: string): unknown {
  const value = parse(text)
  if (isDeeperThan(value, MAX_JSON_DEPTH))
    throw new JsonInputError(`It is nested deeper than ${MAX_JSON_DEPTH} levels.`)
  // Only an escape can make half a character.
  const [illFormed] = /\\ud/i.test(text) ? findIllFormedTexts(value, '') : []
  if (illFormed) throw new JsonInputError(`${illFormed.path || 'It'} ${illFormed.message}.`)
  const [wide] = findWideIntegersInUtf8(Buffer.from(text), '')
  if (wide) throw new JsonInputError(`${wide.path || 'It'} ${wide.message}.`)
  return value
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    const { reason, line, column } = locateJsonSyntaxError(text, error)
    throw new JsonInputError(`${reason}.`, line, column)
  }
}
