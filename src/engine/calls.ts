// How many called workflows are alive at once. Each depth of calls has its own places, so that a waiting call never
// waits for one above it: the deepest always go on, and what is alive stays bounded however wide the calls fan out.

/** How many called workflows are alive at each depth, for one root run. */
const LIVE = 16

interface Level {
  live: number
  /** In the order in which they asked. */
  readonly waiting: Set<() => void>
}

export class Calls {
  readonly #levels = new Map<number, Level>()

  /** Calls `go` once it has a place at this depth: now, or when one is given back. */
  enter(depth: number, go: () => void): void {
    const level = this.#at(depth)
    if (level.live >= LIVE) {
      level.waiting.add(go)
      return
    }
    level.live++
    go()
  }

  /** Gives a place back, to the one who has waited longest. */
  leave(depth: number): void {
    const level = this.#at(depth)
    const [next] = level.waiting
    if (next) {
      level.waiting.delete(next)
      next()
    } else level.live--
  }

  /** Waits no longer. */
  forget(depth: number, go: () => void): void {
    this.#at(depth).waiting.delete(go)
  }

  #at(depth: number): Level {
    let level = this.#levels.get(depth)
    if (!level) {
      level = { live: 0, waiting: new Set() }
      this.#levels.set(depth, level)
    }
    return level
  }
}
