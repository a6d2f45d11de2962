// Waiting for others who may never answer, and need not heed a signal.

/** Nothing came in time. */
export class Silence extends Error {
  constructor(ms: number) {
    super(`nothing came for ${ms} ms`)
    this.name = 'Silence'
  }
}

/**
 * What `work` comes to. Rejects with a Silence where that takes longer than `ms`, which may be never, and with the reason of a signal that
 * aborts before.
 */
export function within<T>(work: Promise<T>, ms: number | null, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const over = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', aborted)
    }
    const aborted = () => {
      over()
      reject(signal.reason)
    }
    const silent = (after: number) => () => {
      over()
      reject(new Silence(after))
    }
    const timer = ms === null ? undefined : setTimeout(silent(ms), ms)
    signal.addEventListener('abort', aborted)
    work.finally(over).then(resolve, reject)
    if (signal.aborted) aborted()
  })
}
