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

/** Waits for `ms`. While it does it is one of `halting`. @throws NodeError as soon as it is halted */
export async function rest(ms: number, clock: Clock, halting: Set<Halting>): Promise<void> {
  const stop = new AbortController()
  const one: Halting = { halt: () => stop.abort(new NodeError('The run has stopped.', 'cancelled')) }
  halting.add(one)
  try {
    await clock.sleep(ms, stop.signal)
  } finally {
    halting.delete(one)
  }
}
