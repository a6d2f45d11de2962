// Waiting for others who may never answer, and need not heed a signal.

/** Nothing came in time. */
export class IdleTimeoutError extends Error {
  constructor(ms: number) {
    super(`nothing came for ${ms} ms`)
    this.name = 'Silence'
  }
}

/**
 * What `work` comes to. Rejects with a Silence where that takes longer than `ms`, which may be never, and with the reason of a signal that
 * aborts before.
 */
export function withIdleTimeout<T>(work: Promise<T>, ms: number | null, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const cleanUp = () => {
      clearTimeout(timer)
      signal.removeEventListener('abort', rejectAborted)
    }
    const rejectAborted = () => {
      cleanUp()
      reject(signal.reason)
    }
    const rejectIdle = (after: number) => () => {
      cleanUp()
      reject(new IdleTimeoutError(after))
    }
    const timer = ms === null ? undefined : setTimeout(rejectIdle(ms), ms)
    signal.addEventListener('abort', rejectAborted)
    work.finally(cleanUp).then(resolve, reject)
    if (signal.aborted) rejectAborted()
  })
}
