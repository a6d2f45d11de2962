// Where a text is no JSON, and why: the engine's words without what they quote. An excerpt may cut a secret, and of the rest nobody knows that it is one.

/** Line and column count from 1. */
export interface JsonSyntaxProblem {
  /** Without a full stop. */
  readonly reason: string
  readonly line: number
  readonly column: number
}

/** Of a text that JSON.parse refused with this error. Of a long one it is read some twenty times. */
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

/** What the engine says without the place and the excerpt. */
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

/** Of an unexpected token V8 does not tell the place; but every text that ends before it fails otherwise, and every longer one as this one does. */
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
