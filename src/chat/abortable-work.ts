// Waiting for those who need not heed a signal.

/** What `work` comes to; rejects with the signal's reason as soon as that aborts. */
export function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason)
    signal.addEventListener('abort', aborted, { once: true })
    work.finally(() => signal.removeEventListener('abort', aborted)).then(resolve, reject)
    if (signal.aborted) aborted()
  })
}

/** How long somebody who was stopped may take to come to their end. */
const MAX_RETURN_MS = 100

/**
 * Takes each of `items`, to their end or until the signal aborts; then they are ended. Where `take` gives a promise, the next is asked for once it is
 * kept. @throws the signal's reason, and what they throw
 */
export async function consumeUntilAborted<T>(
  items: AsyncGenerator<T, void, void>,
  signal: AbortSignal,
  take: (item: T) => Promise<void> | null,
): Promise<void> {
  try {
    for (;;) {
      const { value, done } = await raceAbort(items.next(), signal)
      if (done) return
      const wait = take(value)
      if (wait) await raceAbort(wait, signal)
    }
  } finally {
    await waitAtMost(items.return(), MAX_RETURN_MS)
  }
}

/** Waits for `work`, whatever comes of it, but not for long. */
async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, ms)
  await Promise.race([work.catch(() => {}), late.promise])
  clearTimeout(timer)
}
