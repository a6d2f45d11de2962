// Waiting that takes no place among the firings in flight, and ends as soon as the run stops.
import type { Budget } from './budget.ts'
import type { Halting } from './call.ts'
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
export async function rest(ms: number, clock: Clock, budget: Budget, halting: Set<Halting>): Promise<void> {
  const stop = new AbortController()
  const one: Halting = { resting: false, halt: () => stop.abort(new NodeError('The run has stopped.', 'cancelled')) }
  halting.add(one)
  budget.giveBack()
  budget.wakeWaiting()
  try {
    await clock.sleep(ms, stop.signal)
  } finally {
    await takePlace(budget, stop.signal)
    halting.delete(one)
  }
  stop.signal.throwIfAborted()
}
