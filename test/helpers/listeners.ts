// Counts the listeners of a signal. Ended work must leave none.

/** Counts the listeners that are added from now on and not removed. A `once` listener counts even after its call. */
export function countListeners(signal: AbortSignal): () => number {
  let listeners = 0
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    listeners++
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    listeners--
    remove(...args)
  }
  return () => listeners
}
