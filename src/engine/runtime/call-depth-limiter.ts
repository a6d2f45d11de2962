// How many called workflows are alive at once. Each depth of calls has its own places, so that a waiting call never
// waits for one above it: the deepest always go on, and what is alive stays bounded however wide the calls fan out.

/** How many called workflows are alive at each depth, for one root run. */
const MAX_LIVE_CALLS = 16

interface DepthLevel {
  live: number
  /** In the order in which they asked. */
  readonly waiting: Set<() => void>
}

export class CallDepthLimiter {
  readonly #levels = new Map<number, DepthLevel>()

  /** Calls `go` once it has a place at this depth: now, or when one is given back. */
  acquire(depth: number, onPermit: () => void): void {
    const level = this.#levelOf(depth)
    if (level.live >= MAX_LIVE_CALLS) {
      level.waiting.add(onPermit)
      return
    }
    level.live++
    onPermit()
  }

  /** Gives a place back, to the one who has waited longest. */
  release(depth: number): void {
    const level = this.#levelOf(depth)
    const [next] = level.waiting
    if (next) {
      level.waiting.delete(next)
      next()
    } else level.live--
  }

  /** Waits no longer. */
  cancel(depth: number, onPermit: () => void): void {
    this.#levelOf(depth).waiting.delete(onPermit)
  }

  #levelOf(depth: number): DepthLevel {
    let level = this.#levels.get(depth)
    if (!level) {
      level = { live: 0, waiting: new Set() }
      this.#levels.set(depth, level)
    }
    return level
  }
}
