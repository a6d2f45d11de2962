// Where a node stands in the streams around it: the index path of what it reads, counted as it reads, since no token carries it.
// Only messages about failures ask for it.

/** The indexes of a path, the outermost first; null outside of all streams. */
export type IndexPath = readonly number[] | null

export class StreamPosition {
  /** By level: the index of the present item; of the innermost level, how many items were read. */
  readonly #counts: number[]
  /** Whether what goes on concerns the whole of the innermost stream, not an item of it. */
  isWholeStream = false

  constructor(depth: number) {
    this.#counts = new Array<number>(depth).fill(0)
  }

  /** An item of the innermost stream was read. */
  nextItem(): void {
    this.#counts[this.#counts.length - 1]!++
  }

  /** The end of the stream of that level was read; level 1 is the outermost. */
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

/** A message with the place that it is about: "Too long. (at index 2.0)" is of the first item inside of the third. */
export function addPathToMessage(message: string, path: IndexPath): string {
  return path === null ? message : `${message} (at index ${path.join('.')})`
}
