// Abortable waits for a time, a promise or a change.

/** The longest time that a timer supports. A longer one would end at once. */
const MAX_TIMER_MS = 2_147_483_647

/** Resolves after `ms`. Rejects with the signal's reason where the signal aborts first. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return settleOrAbort(undefined, signal, (resolve) => {
    const timer = setTimeout(resolve, Math.min(ms, MAX_TIMER_MS))
    return () => clearTimeout(timer)
  })
}

/** Settles as `promise` does. Rejects with the signal's reason where the signal aborts first; `promise` then goes on unobserved. */
export function raceAbort<T>(promise: Promise<T>, signal?: AbortSignal): Promise<T> {
  return signal ? settleOrAbort(promise, signal) : promise
}

function settleOrAbort<T>(
  promise: Promise<T> | undefined,
  signal: AbortSignal | undefined,
  start?: (resolve: (value: T) => void) => () => void,
): Promise<T> {
  return new Promise<T>((resolve, reject) => {
    let stop: (() => void) | undefined
    const leave = () => {
      signal?.removeEventListener('abort', abort)
      stop?.()
    }
    const abort = () => {
      leave()
      reject(signal!.reason)
    }
    // The promise is handled even after an abort, so that its later failure is not an unhandled rejection.
    promise?.then(resolve, reject).then(leave)
    if (signal?.aborted) return reject(signal.reason)
    stop = start?.((value) => {
      leave()
      resolve(value)
    })
    signal?.addEventListener('abort', abort, { once: true })
  })
}

/** Returns a signal that aborts when one of the signals does. `done` removes the listeners. */
export function combineSignals(...signals: readonly (AbortSignal | null | undefined)[]): {
  signal: AbortSignal
  done(): void
} {
  const controller = new AbortController()
  const given = signals.filter((signal) => signal !== null && signal !== undefined)
  const abort = () => controller.abort(given.find(({ aborted }) => aborted)?.reason)
  for (const signal of given) signal.addEventListener('abort', abort, { once: true })
  if (given.some(({ aborted }) => aborted)) abort()
  return {
    signal: controller.signal,
    done: () => {
      for (const signal of given) signal.removeEventListener('abort', abort)
    },
  }
}

/** Wakes all waiters. */
export class ChangeNotifier {
  readonly #waiters = new Set<() => void>()

  notify(): void {
    const waiting = [...this.#waiters]
    this.#waiters.clear()
    for (const wake of waiting) wake()
  }

  /** Resolves at the next change, or after `ms`. */
  waitForChange(ms = Number.POSITIVE_INFINITY): Promise<void> {
    return new Promise((resolve) => {
      const timer = ms === Number.POSITIVE_INFINITY ? null : setTimeout(() => wake(), Math.max(0, ms))
      const wake = () => {
        this.#waiters.delete(wake)
        if (timer !== null) clearTimeout(timer)
        resolve()
      }
      this.#waiters.add(wake)
    })
  }
}
