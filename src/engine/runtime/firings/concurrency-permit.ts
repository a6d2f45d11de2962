// Waiting that takes no place among the firings in flight, and ends as soon as the run stops.

import type { Clock } from '../../node-api/clock.ts'
import { NodeError } from '../../node-api/node-type.ts'
import type { RunResources } from '../run/resources.ts'
import type { HaltableWait } from '../workflow-call.ts'

/** Does some waiting with the firing's place given back meanwhile. */
export async function withoutPermit<T>(resources: RunResources, wait: () => Promise<T>): Promise<T> {
  resources.releasePermit()
  resources.wakeWaiters()
  try {
    return await wait()
  } finally {
    resources.takePermit()
  }
}

/** Takes a place as soon as one is free; one beyond the limit where the signal aborts, for the firing still has its end. */
function acquirePermit(resources: RunResources, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const take = () => {
      signal.removeEventListener('abort', take)
      resources.removeWaiter(take)
      resources.takePermit()
      resolve()
    }
    if (resources.hasFreePermit || signal.aborted) {
      take()
      return
    }
    signal.addEventListener('abort', take)
    resources.addWaiter(take)
  })
}

/**
 * Waits for `ms` without a place, and then for a free one. While it does it is one of `halting`.
 * @throws NodeError as soon as it is halted
 */
export async function sleepWithoutPermit(
  ms: number,
  clock: Clock,
  resources: RunResources,
  halting: Set<HaltableWait>,
): Promise<void> {
  const stop = new AbortController()
  let isHalted = false
  const one: HaltableWait = {
    isQuiescent: false,
    halt: () => {
      isHalted = true
    },
    wake: () => stop.abort(),
  }
  halting.add(one)
  resources.releasePermit()
  resources.wakeWaiters()
  try {
    await clock.sleep(ms, stop.signal).catch(() => {})
  } finally {
    await acquirePermit(resources, stop.signal)
    // Very many may rest until the same moment, or be halted in the same.
    await resources.timeSlice.waitForTurn()
    halting.delete(one)
  }
  if (isHalted) throw new NodeError('The run has stopped.', 'cancelled')
}
