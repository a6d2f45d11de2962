// Keeps the text so far of a turn durable, now and then: what a crash may take back is the last moment of it. Each piece of the text is written once.
import type { Store } from '../../db/store.ts'
import { saveTurnDraft, type TurnState } from '../../db/threads.ts'
import type { ChatLimits } from '../limits.ts'

export class PartialMessageWriter {
  readonly #store: Store
  readonly #limits: Pick<ChatLimits, 'draft_ms' | 'draft_characters'>
  readonly #state: () => TurnState
  /** What is new of the message, and how much of it stands before that. */
  #unwritten = ''
  #written_length = 0
  /** Whether there is something to write. */
  #isDue = false
  /** Counts the messages. */
  #message_number = 0
  #isWriting = false
  #timer: NodeJS.Timeout | null = null

  /** `state` gives the turn as it is. */
  constructor(store: Store, limits: Pick<ChatLimits, 'draft_ms' | 'draft_characters'>, state: () => TurnState) {
    this.#store = store
    this.#limits = limits
    this.#state = state
  }

  /** The next piece of the message. */
  append(text: string): void {
    this.#unwritten += text
    this.markChanged()
  }

  /** Something of the state is new, if not of the text. */
  markChanged(): void {
    this.#isDue = true
    if (this.#isWriting) return
    if (this.#unwritten.length >= this.#limits.draft_characters) this.#write()
    else this.#timer ??= setTimeout(() => this.#write(), this.#limits.draft_ms).unref()
  }

  /** What is not written yet belongs to a message that is stored as a whole: the next piece begins another one. */
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
        // A fault of the disk is the store's to tell: the next draft, or the message itself, meets it again.
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
