// Stores the partial text of a turn from time to time, so that a crash loses only the last moment. Each piece is
// written once.
import type { Store } from '../../db/store.ts'
import { saveTurnDraft, type TurnState } from '../../db/threads.ts'
import type { ChatLimits } from '../limits.ts'

export class PartialMessageWriter {
  readonly #store: Store
  readonly #limits: Pick<ChatLimits, 'draft_ms' | 'draft_characters'>
  readonly #state: () => TurnState
  /** The unwritten text, and the length of the written text. */
  #unwritten = ''
  #written_length = 0
  /** Whether there is something to write. */
  #isDue = false
  /** Counts the messages of the turn. */
  #message_number = 0
  #isWriting = false
  #timer: NodeJS.Timeout | null = null

  /** `state` returns the current state of the turn. */
  constructor(store: Store, limits: Pick<ChatLimits, 'draft_ms' | 'draft_characters'>, state: () => TurnState) {
    this.#store = store
    this.#limits = limits
    this.#state = state
  }

  /** Appends the next piece of the message. */
  append(text: string): void {
    this.#unwritten += text
    this.markChanged()
  }

  /** Schedules a write although there may be no new text. */
  markChanged(): void {
    this.#isDue = true
    if (this.#isWriting) return
    if (this.#unwritten.length >= this.#limits.draft_characters) this.#write()
    else this.#timer ??= setTimeout(() => this.#write(), this.#limits.draft_ms).unref()
  }

  /** Drops unwritten text, since the whole message is stored. The next piece begins another message. */
  startNextMessage(): void {
    this.#stopTimer()
    this.#isDue = false
    this.#unwritten = ''
    this.#written_length = 0
    this.#message_number++
  }

  #write(): void {
    this.#stopTimer()
    const [state, message, at, text] = [this.#state(), this.#message_number, this.#written_length, this.#unwritten]
    this.#isDue = false
    this.#unwritten = ''
    this.#written_length += text.length
    this.#isWriting = true
    this.#store.writeThen(
      (tx) => saveTurnDraft(tx, state, { at, text }),
      (error) => {
        this.#isWriting = false
        // The store reports disk faults; the next draft, or the message itself, meets the fault again.
        if (error !== null && message === this.#message_number) {
          this.#unwritten = text + this.#unwritten
          this.#written_length = at
        }
        if (this.#isDue) this.markChanged()
      },
    )
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }
}
