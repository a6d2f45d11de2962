// What travels along an edge besides plain values: the mark for "this path got nothing", failures on their way to a Catch,
// and the ends of streams.

/** Stands where a path has no value. */
export const NOTHING: unique symbol = Symbol('nothing')

/** Stands where a path has no value because the firing that owed it failed, and a Catch is to hear of it. */
export class Failure {
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
export class End {
  readonly level: number
  readonly skipped: boolean
  constructor(level: number, skipped: boolean) {
    this.level = level
    this.skipped = skipped
  }
}

const ended: End[] = []
const skipped: End[] = []

/** The one end mark of its kind; made once, shared by all runs. */
export function endOf(level: number, wasSkipped: boolean): End {
  const marks = wasSkipped ? skipped : ended
  let mark = marks[level]
  if (!mark) {
    mark = new End(level, wasSkipped)
    marks[level] = mark
  }
  return mark
}
