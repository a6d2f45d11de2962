// Asks the model of a turn for its next message, and sends the message to followers while it is written.
import type { ChatChunkFrame, ChatCompletionRequest } from '../../../generated/types.ts'
import type { AnswerPart } from '../../completions/answers/generator.ts'
import { userShareKey } from '../../db/owner-scope.ts'
import { findThreadByKey } from '../../db/threads.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
import { TimeSlice } from '../../engine/runtime/time-slice.ts'
import { consumeUntilAborted, raceAbort } from '../abortable-work.ts'
import { readConversationSteps } from '../conversation.ts'
import { simplifyMessages } from '../message-simplification.ts'
import { parseModelName, resolveModelName } from '../model-choice.ts'
import type { ToolCallIds } from '../tools/call-ids.ts'
import { MessageInProgress } from './message-in-progress.ts'
import type { PartialMessageWriter } from './partial-message-writer.ts'
import type { TurnContext, TurnParts, TurnProgress } from './turn-context.ts'

/** How often older messages are simplified one by one before all are simplified. */
const MAX_SINGLE_TRIES = 4

export class AnswerWriter {
  readonly #parts: TurnParts
  readonly #context: TurnContext
  readonly #progress: TurnProgress
  readonly #partial_writer: PartialMessageWriter
  readonly #tool_call_ids: ToolCallIds
  readonly #signal: AbortSignal
  readonly #slice: TimeSlice
  /** Set while a part is processed in steps. Never rejects. */
  #taking: Promise<void> | null = null

  /** `signal`: aborts when the turn is interrupted. */
  constructor(
    parts: TurnParts,
    context: TurnContext,
    progress: TurnProgress,
    writers: { readonly partial_writer: PartialMessageWriter; readonly tool_call_ids: ToolCallIds },
    signal: AbortSignal,
  ) {
    this.#parts = parts
    this.#context = context
    this.#progress = progress
    this.#partial_writer = writers.partial_writer
    this.#tool_call_ids = writers.tool_call_ids
    this.#signal = signal
    this.#slice = new TimeSlice(userShareKey(context.owner))
  }

  /** Resolves when the part that is processed in steps is a part of the message; null if there is none. */
  get taking(): Promise<void> | null {
    return this.#taking
  }

  /** Writes the next message. In a long thread it waits for a permit. */
  async write(last: boolean): Promise<MessageInProgress> {
    this.#signal.throwIfAborted()
    if (!this.#isLong) return await this.#writeNow(last)
    const { long_turns } = this.#parts
    const owner = userShareKey(this.#context.owner)
    await long_turns.acquire(owner, this.#signal)
    try {
      return await this.#writeNow(last)
    } finally {
      long_turns.release(owner)
    }
  }

  get #isLong(): boolean {
    const { store, limits } = this.#parts
    const thread = store.read((tx) => findThreadByKey(tx, this.#context.thread.key))
    return (thread?.size ?? 0) > 2 * limits.sent_size
  }

  async #writeNow(last: boolean): Promise<MessageInProgress> {
    const { thread, redactor, id } = this.#context
    const writing = new MessageInProgress(
      { thread_id: thread.id, turn_id: id, sequence: this.#progress.last_sequence + 1 },
      redactor,
    )
    this.#progress.message = writing
    let body: ChatCompletionRequest | null = await this.#createRequest(last)
    for (let again = 0; body; again++) body = await this.#askModel(body, writing, again >= MAX_SINGLE_TRIES)
    return writing
  }

  /** Returns null when the message is complete, or a simpler request for the next attempt. */
  async #askModel(
    body: ChatCompletionRequest,
    writing: MessageInProgress,
    tried: boolean,
  ): Promise<ChatCompletionRequest | null> {
    const signal = this.#signal
    let begun = false
    const used = (use: ModelUsage) => writing.recordUse(use)
    try {
      await consumeUntilAborted(
        this.#parts.completions.answer(this.#context.owner, body, { signal, used }),
        signal,
        (part) => {
          begun = true
          return this.#take(part, writing)
        },
      )
      return null
    } catch (thrown) {
      const messages = begun ? null : simplifyMessages(body.messages, thrown, tried)
      if (messages === null) throw thrown
      return { ...body, messages }
    }
  }

  /** Every follower receives each frame, so a turn has a time slice. Returns a promise when the slice is used up. */
  #take(part: AnswerPart, writing: MessageInProgress): Promise<void> | null {
    if (writing.isWaitingLong && part.type !== 'job') return this.#takeLong(part, writing)
    if (!this.#slice.isUsedUp(performance.now())) return this.#takeShort(part, writing)
    return this.#slice.waitForTurn().then(() => {
      if (!this.#signal.aborted) this.#takeShort(part, writing)
    })
  }

  /** Like `#take`, in time slices of the owner. */
  #takeLong(part: AnswerPart, writing: MessageInProgress): Promise<void> {
    const taking = this.#parts.slices.run(userShareKey(this.#context.owner), writing.takeSteps(part)).then((chunks) => {
      if (!this.#signal.aborted) this.#tellChunks(chunks)
    })
    this.#taking = taking.catch(() => {})
    return taking
  }

  #takeShort(part: AnswerPart, writing: MessageInProgress): null {
    if (part.type === 'job') {
      this.#progress.job_id = part.job_id
      this.#partial_writer.markChanged()
    }
    this.#tellChunks(writing.take(part))
    return null
  }

  #tellChunks(chunks: readonly ChatChunkFrame[]): void {
    for (const chunk of chunks) {
      this.#context.tell(chunk)
      if (!chunk.thinking) this.#partial_writer.append(chunk.content)
    }
  }

  async #createRequest(last: boolean): Promise<ChatCompletionRequest> {
    const { store, slices, choices, limits } = this.#parts
    const { choice, owner, thread, tools } = this.#context
    const model = await raceAbort(resolveModelName(choice, owner, choices, this.#signal), this.#signal)
    this.#progress.chosen_model = parseModelName(model, choices.providers)
    this.#partial_writer.markChanged()
    const conversation = await slices.run(userShareKey(owner), readConversationSteps(store, thread.key, limits))
    this.#signal.throwIfAborted()
    const messages = this.#tool_call_ids.toProviderIds(conversation)
    const { definitions } = tools
    if (definitions.length === 0) return { model, messages }
    return { model, messages, tools: [...definitions], ...(last ? { tool_choice: 'none' } : {}) }
  }
}
