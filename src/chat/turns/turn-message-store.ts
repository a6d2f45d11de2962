// Stores the messages of a turn with the turn's end, and sends each to followers once it is stored.
import type { Message } from '../../../generated/types.ts'
import type { Tx } from '../../db/store.ts'
import type { MessageTable } from '../../db/tables/chat.ts'
import { clearTurnDrafts, deleteTurn } from '../../db/threads.ts'
import { ServiceError } from '../../errors.ts'
import { type ChatFrame, createMessageFrame } from '../frames.ts'
import {
  appendMessage,
  createUnsequencedMessage,
  encodeMessageTexts,
  type MessageTexts,
  type NewMessage,
} from '../message-storage.ts'
import { CALL_NOT_OPEN } from '../tools/call-executor.ts'
import type { PartialMessageWriter } from './partial-message-writer.ts'
import { type TurnContext, type TurnParts, type TurnProgress, toTurnState } from './turn-context.ts'

export class TurnMessageStore {
  readonly #parts: TurnParts
  readonly #context: TurnContext
  readonly #progress: TurnProgress
  readonly #partial_writer: PartialMessageWriter
  /** Whether the last message of the turn is being stored. */
  #isEnding = false

  constructor(parts: TurnParts, context: TurnContext, progress: TurnProgress, partial_writer: PartialMessageWriter) {
    this.#parts = parts
    this.#context = context
    this.#progress = progress
    this.#partial_writer = partial_writer
  }

  /** Stores a message of the turn and sends it. `ends` is true for the last message. */
  store(said: NewMessage, ends: boolean, first?: ChatFrame): Promise<MessageTable> {
    if (ends) this.#isEnding = true
    const texts = encodeMessageTexts(this.#parts.slices, this.#context.owner, said)
    if (!(texts instanceof Promise)) return this.#storeTexts(said, texts, ends, first)
    return texts.then((written) => {
      // The turn ended meanwhile: the result of the call would come after its end, or in the next turn.
      if (this.#isEnding && !ends) throw new ServiceError('NOT_FOUND', { message: CALL_NOT_OPEN })
      return this.#storeTexts(said, written, ends, first)
    })
  }

  #storeTexts(said: NewMessage, texts: MessageTexts, ends: boolean, first?: ChatFrame): Promise<MessageTable> {
    const { store, platform } = this.#parts
    const { thread, id, tell } = this.#context
    const message = createUnsequencedMessage(
      thread.key,
      { ...said, turn_id: id },
      platform,
      texts.content,
      texts.tool_calls,
    )
    this.#partial_writer.startNextMessage()
    const state = toTurnState(this.#context, this.#progress)
    const unit = (tx: Tx): MessageTable => {
      if (ends) deleteTurn(tx, thread.key)
      else clearTurnDrafts(tx, state)
      return appendMessage(tx, message)
    }
    return new Promise((resolve, reject) => {
      store.writeThen(unit, (error, row) => {
        if (!row) return reject(error)
        // From here on the stored message replaces the partial message.
        this.#progress.last_sequence = row.sequence
        this.#progress.message = null
        if (first) tell(first)
        tell(createMessageFrame(thread.id, row, said.content, (said.tool_calls ?? null) as Message['tool_calls']))
        resolve(row)
      })
    })
  }
}
