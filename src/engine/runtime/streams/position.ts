// The position of a node in the streams around it: the index path of the current item, counted while reading, as tokens carry no path. Used
// for messages about failures and for names of firings.

/** The indexes of a path, the outermost first; null outside of all streams. */
export type IndexPath = readonly number[] | null

export class StreamPosition {
  /** By level: the index of the current item; at the innermost level, the number of items read. */
  readonly #counts: number[]
  /** Whether current work concerns the whole innermost stream, not one item. */
  isWholeStream = false

  constructor(depth: number) {
    this.#counts = new Array<number>(depth).fill(0)
  }

  /** An item of the innermost stream was read. */
  nextItem(): void {
    this.#counts[this.#counts.length - 1]!++
  }

  /** The end of the stream of a level was read; level 1 is the outermost. */
  endStream(level: number): void {
    this.#counts.fill(0, level - 1)
    if (level > 1) this.#counts[level - 2]!++
  }

  currentPath(): IndexPath {
    const path = this.#counts.slice()
    const read = path.pop()!
    if (!this.isWholeStream) path.push(read - 1)
    return path.length > 0 ? path : null
  }
}

/** Adds the path to a message: "Too long. (at index 2.0)" concerns the first item inside the third. */
export function addPathToMessage(message: string, path: IndexPath): string {
  return path === null ? message : `${message} (at index ${path.join('.')})`
}
