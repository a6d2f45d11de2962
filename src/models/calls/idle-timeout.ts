// Limits the wait for work that may never settle and may ignore its signal.

export class IdleTimeoutError extends Error {
  constructor(ms: number) {
    super(`nothing came for ${ms} ms`)
    this.name = 'Silence'
  }
}

/**
 * Settles as `work` does. Rejects with IdleTimeoutError after `ms` (null: no limit), and with the signal's reason where the signal aborts
 * first.
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
