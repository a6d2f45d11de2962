// Waiting that takes no place among the firings in flight, and ends as soon as the run stops.
import type { Budget } from './budget.ts'
import type { HaltedLater } from './call.ts'
import type { Clock } from './clock.ts'
import { NodeError } from './node-type.ts'

/** Does some waiting with the firing's place given back meanwhile. */
export async function withoutPlace<T>(budget: Budget, wait: () => Promise<T>): Promise<T> {
  budget.giveBack()
  budget.wakeWaiting()
  try {
    return await wait()
  } finally {
    budget.take()
  }
}

/** Takes a place as soon as one is free; one beyond the limit where the signal aborts, for the firing still has its end. */
function takePlace(budget: Budget, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const take = () => {
      signal.removeEventListener('abort', take)
      budget.forget(take)
      budget.take()
      resolve()
    }
    if (budget.free || signal.aborted) {
      take()
      return
    }
    signal.addEventListener('abort', take)
    budget.wait(take)
  })
}

/**
 * Waits for `ms` without a place, and then for a free one. While it does it is one of `halting`.
 * @throws NodeError as soon as it is halted
 */
export async function rest(ms: number, clock: Clock, budget: Budget, halting: Set<HaltedLater>): Promise<void> {
  const stop = new AbortController()
  let isHalted = false
  const one: HaltedLater = {
    resting: false,
    halt: () => {
      isHalted = true
    },
    wake: () => stop.abort(),
  }
  halting.add(one)
  budget.giveBack()
  budget.wakeWaiting()
  try {
    await clock.sleep(ms, stop.signal).catch(() => {})
  } finally {
    await takePlace(budget, stop.signal)
    // Very many may rest until the same moment, or be halted in the same.
    await budget.slice.turn()
    halting.delete(one)
  }
  if (isHalted) throw new NodeError('The run has stopped.', 'cancelled')
}
