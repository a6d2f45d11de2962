// Who is told what happens in which thread.
import type { ChatFrame, FrameListener } from '../frames.ts'

/** Of a thread that more follow, those who come last may be told a moment later, and of several pieces at once. */
const CROWDED_ABOVE = 64

export class ThreadListeners {
  readonly #byThread = new Map<string, Set<FrameListener>>()

  /** How many threads somebody listens to. */
  get size(): number {
    return this.#byThread.size
  }

  notify(thread_id: string, frame: ChatFrame): void {
    const listeners = this.#byThread.get(thread_id)
    if (!listeners) return
    const crowded = listeners.size > CROWDED_ABOVE
    for (const listener of listeners) listener(frame, crowded)
  }

  /** Until the returned function is called. */
  add(thread_id: string, listener: FrameListener): () => void {
    const listeners = this.#byThread.get(thread_id) ?? new Set()
    this.#byThread.set(thread_id, listeners.add(listener))
    return () => {
      listeners.delete(listener)
      if (listeners.size === 0 && this.#byThread.get(thread_id) === listeners) this.#byThread.delete(thread_id)
    }
  }
}
