// Time as nodes see it. Tests use a clock that they set; all other callers use the system's.

export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number
  /** Milliseconds since the epoch, unaffected by changes of the machine's clock; absent: `now` is used. For recorded delays. */
  steady?(): number
  /** Resolves after `ms`. Rejects with the signal's reason as soon as it aborts, and then leaves no timer behind. */
  sleep(ms: number, signal: AbortSignal): Promise<void>
}

/** The time base of recorded delays. */
export function readSteadyTime(clock: Clock): number {
  return clock.steady?.() ?? clock.now()
}

/** The longest delay of one timer; longer sleeps are split. */
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
