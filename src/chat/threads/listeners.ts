// The listeners of each thread.
import type { ChatFrame, FrameListener } from '../frames.ts'

/** If a thread has more listeners, the last of them may receive frames later, and several pieces joined. */
const CROWDED_ABOVE = 64

export class ThreadListeners {
  readonly #byThread = new Map<string, Set<FrameListener>>()

  /** The number of threads with listeners. */
  get size(): number {
    return this.#byThread.size
  }

  notify(thread_id: string, frame: ChatFrame): void {
    const listeners = this.#byThread.get(thread_id)
    if (!listeners) return
    const crowded = listeners.size > CROWDED_ABOVE
    for (const listener of listeners) listener(frame, crowded)
  }

  /** The returned function removes the listener. */
  add(thread_id: string, listener: FrameListener): () => void {
    const listeners = this.#byThread.get(thread_id) ?? new Set()
    this.#byThread.set(thread_id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#byThread.get(thread_id) === listeners) this.#byThread.delete(thread_id)
    }
  }
}
