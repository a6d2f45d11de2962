// Parses JSON that people wrote, or reports the position of the error.

import { findWideIntegersInUtf8 } from '../../payloads/wide-integers.ts'
import { isDeeperThan, MAX_JSON_DEPTH } from '../../shared/json.ts'
import { locateJsonSyntaxError } from '../../shared/json-syntax-error.ts'
import { findIllFormedTexts } from '../../shared/validation-problems.ts'

/** A text that is not JSON, or JSON beyond the limits of a request. */
export class JsonInputError extends Error {
  /** From 1, or null if the error has no position. */
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
 * The value of a text, within the limits of a request: 64 levels, well-formed Unicode, no integer beyond 2^53.
 * @throws JsonInputError
 */
export function parseJsonInput(text: string): unknown {
  const value = parse(text)
  if (isDeeperThan(value, MAX_JSON_DEPTH))
    throw new JsonInputError(`It is nested deeper than ${MAX_JSON_DEPTH} levels.`)
  // Only an escape can produce a lone surrogate.
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
