// Where and why a text is not JSON: the message of V8 without its excerpt. An excerpt may hold a part of a secret, which redaction would not
// recognize.

/** Line and column count from 1. */
export interface JsonSyntaxProblem {
  /** Without a full stop. */
  readonly reason: string
  readonly line: number
  readonly column: number
}

/** Locates the error with which `JSON.parse` refused this text. A long text is read some twenty times. */
export function locateJsonSyntaxError(text: string, error: unknown): JsonSyntaxProblem {
  const { message } = error as Error
  const place = findErrorOffset(text, message)
  const before = text.slice(0, place)
  return {
    reason: jsonErrorReason(error),
    line: before.split('\n').length,
    column: place - before.lastIndexOf('\n'),
  }
}

/** The message of V8 without the position and the excerpt. */
export function jsonErrorReason(error: unknown): string {
  const { message } = error as Error
  if (message.startsWith('Unexpected end')) return 'It ends too early'
  const reason = message.replace(/(?: in JSON)? at position .*$/s, '').replace(/, (?:\.\.\.)?".*$/s, '')
  return reason.replace(/ after JSON$/, ' after the end of the value')
}

function findErrorOffset(text: string, message: string): number {
  const position = / at position (\d+)/.exec(message)?.[1]
  if (position !== undefined) return Number(position)
  return hasUnexpectedToken(text) ? findUnexpectedToken(text) : text.length
}

function hasUnexpectedToken(text: string): boolean {
  try {
    JSON.parse(text)
    return false
  } catch (error) {
    return (error as Error).message.startsWith('Unexpected token')
  }
}

/**
 * V8 does not report the position of an unexpected token. Texts that end before the token fail with another error, longer texts with the same error.
 */
function findUnexpectedToken(text: string): number {
  let without = 0
  let withIt = text.length
  while (withIt - without > 1) {
    const middle = (without + withIt) >>> 1
    if (hasUnexpectedToken(text.slice(0, middle))) withIt = middle
    else without = middle
  }
  return without
}
