// Keeps the text so far of a turn durable, now and then: what a crash may take back is the last moment of it. Each piece of the text is written once.
import type { Store } from '../db/store.ts'
import { draftTurn, type TurnState } from '../db/threads.ts'
import type { ChatLimits } from './limits.ts'

export class Drafts {
  readonly #store: Store
  readonly #limits: Pick<ChatLimits, 'draft_ms' | 'draft_characters'>
  readonly #state: () => TurnState
  /** What is new of the message, and how much of it stands before that. */
  #fresh = ''
  #before = 0
  /** Whether there is something to write. */
  #due = false
  /** Counts the messages. */
  #message = 0
  #writing = false
  #timer: NodeJS.Timeout | null = null

  /** `state` gives the turn as it is. */
  constructor(store: Store, limits: Pick<ChatLimits, 'draft_ms' | 'draft_characters'>, state: () => TurnState) {
    this.#store = store
    this.#limits = limits
    this.#state = state
  }

  /** The next piece of the message. */
  grew(text: string): void {
    this.#fresh += text
    this.changed()
  }

  /** Something of the state is new, if not of the text. */
  changed(): void {
    this.#due = true
    if (this.#writing) return
    if (this.#fresh.length >= this.#limits.draft_characters) this.#write()
    else this.#timer ??= setTimeout(() => this.#write(), this.#limits.draft_ms).unref()
  }

  /** What is not written yet belongs to a message that is stored as a whole: the next piece begins another one. */
  settle(): void {
    this.#stopTimer()
    this.#due = false
    this.#fresh = ''
    this.#before = 0
    this.#message++
  }

  #write(): void {
    this.#stopTimer()
    const [state, message, at, text] = [this.#state(), this.#message, this.#before, this.#fresh]
    this.#due = false
    this.#fresh = ''
    this.#before += text.length
    this.#writing = true
    this.#store.writeThen(
      (tx) => draftTurn(tx, state, { at, text }),
      (error) => {
        this.#writing = false
        // A fault of the disk is the store's to tell: the next draft, or the message itself, meets it again.
        if (error !== null && message === this.#message) {
          this.#fresh = text + this.#fresh
          this.#before = at
        }
        if (this.#due) this.changed()
      },
    )
  }

  #stopTimer(): void {
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = null
  }
}
