// Waits for work that may ignore its signal.

/** Returns the result of `work`, or rejects with the signal's reason as soon as the signal aborts. */
export function raceAbort<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const aborted = () => reject(signal.reason)
    signal.addEventListener('abort', aborted, { once: true })
    work.finally(() => signal.removeEventListener('abort', aborted)).then(resolve, reject)
    if (signal.aborted) aborted()
  })
}

/** In milliseconds: how long a stopped generator may take to return. */
const MAX_RETURN_MS = 100

/**
 * Takes each item until the generator ends or the signal aborts, then ends the generator. If `take` returns a promise,
 * the next item is read after it resolves.
 * @throws the signal's reason; what the generator throws
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

/** Waits for `work` to settle, but at most `ms` milliseconds. */
async function waitAtMost(work: Promise<unknown>, ms: number): Promise<void> {
  const late = Promise.withResolvers<void>()
  const timer = setTimeout(late.resolve, ms)
  await Promise.race([work.catch(() => {}), late.promise])
  clearTimeout(timer)
}
