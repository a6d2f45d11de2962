// Waits that hold no concurrency permit and end as soon as the run stops.

import type { Clock } from '../../node-api/clock.ts'
import { NodeError } from '../../node-api/node-error.ts'
import type { RunResources } from '../run/resources.ts'
import type { HaltableWait } from '../workflow-call.ts'

/** Releases the firing's permit while `wait` is in progress. */
export async function withoutPermit<T>(resources: RunResources, wait: () => Promise<T>): Promise<T> {
  resources.releasePermit()
  resources.wakeWaiters()
  try {
    return await wait()
  } finally {
    resources.takePermit()
  }
}

/** Takes a permit as soon as one is free. If the signal aborts, takes one beyond the limit, as the firing still has to end. */
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
 * Sleeps for `ms` without a permit, then waits for a free one. Meanwhile the sleep is a member of `halting`.
 * @throws NodeError `cancelled` as soon as it is halted
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
    // Very many sleeps may end, or be halted, at the same moment.
    await resources.timeSlice.waitForTurn()
    halting.delete(one)
  }
  if (isHalted) throw new NodeError('The run has stopped.', 'cancelled')
}
