// Limits the called workflows that are alive at once. Each depth of calls has its own permits, so a call never waits for one at a lesser
// depth: the deepest always proceed, and the number stays bounded however wide calls fan out.

/** The limit of live called workflows per depth, for one root run. */
const MAX_LIVE_CALLS = 16

interface DepthLevel {
  live: number
  /** Waiting calls in the order of their requests. */
  readonly waiting: Set<() => void>
}

export class CallDepthLimiter {
  readonly #levels = new Map<number, DepthLevel>()

  /** Calls `onPermit` when a permit at this depth is free: now or later. */
  acquire(depth: number, onPermit: () => void): void {
    const level = this.#levelOf(depth)
    if (level.live >= MAX_LIVE_CALLS) {
      level.waiting.add(onPermit)
      return
    }
    level.live++
    onPermit()
  }

  /** Returns a permit and passes it to the call that has waited longest. */
  release(depth: number): void {
    const level = this.#levelOf(depth)
    const [next] = level.waiting
    if (next) {
      level.waiting.delete(next)
      next()
    } else level.live--
  }

  /** Withdraws a waiting call. */
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
