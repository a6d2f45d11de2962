// The tokens on edges besides plain values: the mark of an absent value, failures on their way to a Catch, and ends of streams.

/** Marks a path without a value. */
export const NO_VALUE: unique symbol = Symbol('nothing')

/** Marks a path without a value because of a failure that a Catch will receive. */
export class FailureToken {
  readonly node_id: string
  readonly node_type: string
  readonly type: string
  readonly message: string
  constructor(node: { node_id: string; node_type: string }, type: string, message: string) {
    this.node_id = node.node_id
    this.node_type = node.node_type
    this.type = type
    this.message = message
  }
}

/** Closes the stream that was opened at `level`; level 1 is the outermost. `isSkipped`: its opener never fired. */
export class StreamEndToken {
  readonly level: number
  readonly isSkipped: boolean
  constructor(level: number, skipped: boolean) {
    this.level = level
    this.isSkipped = skipped
  }
}

const endTokens: StreamEndToken[] = []
const skippedEndTokens: StreamEndToken[] = []

/** The end mark of its kind, created once and shared by all runs. */
export function getStreamEnd(level: number, wasSkipped: boolean): StreamEndToken {
  const marks = wasSkipped ? skippedEndTokens : endTokens
  let mark = marks[level]
  if (!mark) {
    mark = new StreamEndToken(level, wasSkipped)
    marks[level] = mark
  }
  return mark
}
