// What travels along an edge besides plain values: the mark for "this path got nothing" and the ends of streams.

/** Stands where a path has no value. */
export const NOTHING: unique symbol = Symbol('nothing')

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
