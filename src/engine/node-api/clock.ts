// Time as nodes see it. Tests hand in one they can turn by hand; everything else uses the system's.

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds since the epoch as time passes, whatever is done to the machine's clock; `now` where it is absent. For delays that are remembered. */
  steady?(): number
  /** Resolves after `ms`; rejects with the signal's reason as soon as it aborts, and leaves nothing behind. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** The time that remembered delays are counted in. */
export function readSteadyTime(clock: Clock): number {
  return clock.steady?.() ?? clock.now()
}

/** The longest delay of one timer; longer sleeps are taken in pieces. */
const MAX_TIMER_MS = 2_147_483_647

function sleepOnce(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const abort = () => {
      clearTimeout(timer)
      reject(signal.reason)
    }
    const timer = setTimeout(() => {
      signal.removeEventListener('abort', abort)
      resolve()
    }, ms)
    signal.addEventListener('abort', abort, { once: true })
  })
}

export const systemClock: Clock = {
  now: () => Date.now(),
  async sleep(ms, signal) {
    signal.throwIfAborted()
    let left = ms
    while (left > MAX_TIMER_MS) {
      await sleepOnce(MAX_TIMER_MS, signal)
      left -= MAX_TIMER_MS
    }
    await sleepOnce(left, signal)
  },
}
