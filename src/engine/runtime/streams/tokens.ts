// What travels along an edge besides plain values: the mark for "this path got nothing", failures on their way to a Catch,
// and the ends of streams.

/** Stands where a path has no value. */
export const NO_VALUE: unique symbol = Symbol('nothing')

/** Stands where a path has no value because the firing that owed it failed, and a Catch is to hear of it. */
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

/** Closes the stream that was opened at `level`; level 1 is the outermost. `skipped`: its opener never fired. */
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

/** The one end mark of its kind; made once, shared by all runs. */
export function getStreamEnd(level: number, wasSkipped: boolean): StreamEndToken {
  const marks = wasSkipped ? skippedEndTokens : endTokens
  let mark = marks[level]
  if (!mark) {
    mark = new StreamEndToken(level, wasSkipped)
    marks[level] = mark
  }
  return mark
}
