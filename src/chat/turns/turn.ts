// One turn: the answer to one message of the user, with all its model and tool calls. It does not depend on a socket,
// sends its frames as they occur, and always ends with a stored message.
import type {
  ChatChunkFrame,
  ChatCompletionRequest,
  Message,
  SocketError,
  ToolCall,
  TurnUpdateFrame,
} from '../../../generated/types.ts'
import type { AnswerGenerator, AnswerPart } from '../../completions/answers/generator.ts'
import { type OwnerScope, userShareKey } from '../../db/owner-scope.ts'
import type { MessageTable } from '../../db/schema.ts'
import type { Store, Tx } from '../../db/store.ts'
import { clearTurnDrafts, deleteTurn, findThreadByKey, type TurnState } from '../../db/threads.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
import { TimeSlice } from '../../engine/runtime/time-slice.ts'
import { errorBodies, ServiceError, toServiceError } from '../../errors.ts'
import { type Log, logFailure } from '../../log.ts'
import type { Platform } from '../../platform.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import type { TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { FairSemaphore } from '../../workers/fair-semaphore.ts'
import { consumeUntilAborted, raceAbort } from '../abortable-work.ts'
import { readConversationSteps } from '../conversation.ts'
import { type ChatFrame, createMessageFrame } from '../frames.ts'
import type { ChatLimits } from '../limits.ts'
import { simplifyMessages } from '../message-simplification.ts'
import {
  appendMessage,
  createUnsequencedMessage,
  encodeMessageTexts,
  type MessageTexts,
  type NewMessage,
} from '../message-storage.ts'
import {
  type ChosenModel,
  type ModelChoice,
  type ModelChoiceParts,
  parseModelChoice,
  parseModelName,
  resolveModelName,
} from '../model-choice.ts'
import { redactWith } from '../owner-redaction.ts'
import { CALL_NOT_OPEN, ChatToolCallExecutor, type ToolOutcome } from '../tools/call-executor.ts'
import { ToolCallIds } from '../tools/call-ids.ts'
import { getToolName, parseToolCalls, renameToolCall, type TurnTools } from '../tools/turn-tools.ts'
import { MessageInProgress } from './message-in-progress.ts'
import { PartialMessageWriter } from './partial-message-writer.ts'

/** How often older messages are simplified one by one before all are simplified. */
const MAX_SINGLE_TRIES = 4

export interface TurnParts {
  readonly store: Store
  /** Time slices of the users, for long messages. */
  readonly slices: Pick<TimeSliceScheduler, 'run' | 'begin'>
  readonly platform: Platform
  readonly log: Log
  readonly completions: AnswerGenerator
  readonly choices: ModelChoiceParts
  readonly limits: ChatLimits
  /** Limits turns of long threads, since each holds its conversation in memory. */
  readonly long_turns: FairSemaphore
}

export interface TurnContext {
  readonly id: string
  readonly owner: OwnerScope
  readonly thread: { readonly id: string; readonly key: number; readonly last_sequence: number }
  readonly choice: ModelChoice
  readonly tools: TurnTools
  /** The owner's redactor. */
  readonly redactor: Redactor
  tell(frame: ChatFrame): void
}

export class Turn {
  readonly #parts: TurnParts
  readonly #context: TurnContext
  readonly #stop = new AbortController()
  readonly #tool_calls: ChatToolCallExecutor
  readonly #partial_writer: PartialMessageWriter
  readonly #tool_call_ids: ToolCallIds
  readonly #slice: TimeSlice
  #last_stored: number
  #job_id: string | null = null
  #message: MessageInProgress | null = null
  /** Set while a part is processed in steps. Never rejects. */
  #taking: Promise<void> | null = null
  /** Whether the last message of the turn is being stored. */
  #isEnding = false
  #chosen_model: ChosenModel

  constructor(parts: TurnParts, of: TurnContext) {
    this.#parts = parts
    this.#context = of
    this.#last_stored = of.thread.last_sequence
    this.#chosen_model = parseModelChoice(of.choice, parts.choices.providers)
    this.#partial_writer = new PartialMessageWriter(parts.store, parts.limits, () => this.#createState())
    this.#slice = new TimeSlice(userShareKey(of.owner))
    this.#tool_call_ids = new ToolCallIds(() => parts.platform.id('call'), of.redactor)
    this.#tool_calls = new ChatToolCallExecutor({
      thread_id: of.thread.id,
      turn_id: of.id,
      tools: of.tools,
      redactor: of.redactor,
      log: parts.log,
      tool_ms: parts.limits.tool_ms,
      tell: of.tell,
      store: (said, first) => this.#store(said, false, first),
    })
  }

  get id(): string {
    return this.#context.id
  }

  get owner(): OwnerScope {
    return this.#context.owner
  }

  /** The sequence of the last stored message of the thread. */
  get last_sequence(): number {
    return this.#last_stored
  }

  /** Ends the turn soon, as interrupted. */
  interrupt(): void {
    this.#stop.abort()
  }

  /** The frames that a new follower needs. */
  createCatchUpFrames(): ChatFrame[] {
    return [...(this.#message?.createCatchUpChunks() ?? []), ...this.#tool_calls.open_calls]
  }

  /** Passes the result of a client tool to its call; null if no call waits for it. */
  settleToolCall(tool_call_id: string, outcome: ToolOutcome): Promise<void> | null {
    return this.#tool_calls.settleOpen(tool_call_id, outcome)
  }

  createRunningUpdate(): TurnUpdateFrame {
    return this.#createUpdate('running')
  }

  /** Runs the turn. The end is stored before `ended` reports it. Never throws. */
  async run(ended: (frame: TurnUpdateFrame) => void): Promise<void> {
    const end = await this.#runSteps().then(
      () => this.#createUpdate('completed'),
      (thrown) => this.#storeUnfinished(thrown),
    )
    ended(end)
  }

  async #runSteps(): Promise<void> {
    const { limits } = this.#parts
    for (let step = 1; ; step++) {
      const last = step >= limits.steps
      const writing = await this.#writeMessage(last)
      const { content, origin } = writing
      const calls = await this.#assignOwnIds(writing.tool_calls)
      if (calls.length === 0) {
        await this.#store({ role: 'assistant', content, ...origin }, true)
        return
      }
      if (last || calls.length > limits.calls)
        throw createUpstreamError('The model called tools more often than one turn allows.')
      if (calls.some((call) => getToolName(call) === ''))
        throw createUpstreamError('The model called a tool without a name.')
      const tool_calls = await this.#redact(calls)
      this.#stop.signal.throwIfAborted()
      await this.#store({ role: 'assistant', content: content === '' ? null : content, tool_calls, ...origin }, false)
      await this.#tool_calls.execute(parseToolCalls(calls), this.#stop.signal)
    }
  }

  /** Gives the calls our own ids, and redacts the names of their tools. */
  async #assignOwnIds(calls: readonly ToolCall[]): Promise<ToolCall[]> {
    if (calls.length === 0) return []
    const names = await this.#redact(calls.map(getToolName))
    return calls.map((call, at) => renameToolCall(call, this.#tool_call_ids.createOwn(call.id), names[at]!))
  }

  /** A model may write millions of characters: they are redacted in time slices of the owner. */
  #redact<T>(value: T): T | Promise<T> {
    return redactWith(this.#context.redactor, this.#parts.slices, this.#context.owner, value)
  }

  /** Writes the next message. In a long thread it waits for a permit. */
  async #writeMessage(last: boolean): Promise<MessageInProgress> {
    this.#stop.signal.throwIfAborted()
    if (!this.#isLong) return await this.#writeNow(last)
    const { long_turns } = this.#parts
    const owner = userShareKey(this.#context.owner)
    await long_turns.acquire(owner, this.#stop.signal)
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
      { thread_id: thread.id, turn_id: id, sequence: this.#last_stored + 1 },
      redactor,
    )
    this.#message = writing
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
    const { signal } = this.#stop
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
      if (!this.#stop.signal.aborted) this.#takeShort(part, writing)
    })
  }

  /** Like `#take`, in time slices of the owner. */
  #takeLong(part: AnswerPart, writing: MessageInProgress): Promise<void> {
    const taking = this.#parts.slices.run(userShareKey(this.#context.owner), writing.takeSteps(part)).then((chunks) => {
      if (!this.#stop.signal.aborted) this.#tellChunks(chunks)
    })
    this.#taking = taking.catch(() => {})
    return taking
  }

  #takeShort(part: AnswerPart, writing: MessageInProgress): null {
    if (part.type === 'job') {
      this.#job_id = part.job_id
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
    const model = await raceAbort(resolveModelName(choice, owner, choices, this.#stop.signal), this.#stop.signal)
    this.#chosen_model = parseModelName(model, choices.providers)
    this.#partial_writer.markChanged()
    const conversation = await slices.run(userShareKey(owner), readConversationSteps(store, thread.key, limits))
    this.#stop.signal.throwIfAborted()
    const messages = this.#tool_call_ids.toProviderIds(conversation)
    const { definitions } = tools
    if (definitions.length === 0) return { model, messages }
    return { model, messages, tools: [...definitions], ...(last ? { tool_choice: 'none' } : {}) }
  }

  /** Stores the partial message of a turn that failed or was interrupted. */
  async #storeUnfinished(thrown: unknown): Promise<TurnUpdateFrame> {
    const error = this.#stop.signal.aborted ? null : toServiceError(thrown)
    if (error) logFailure(this.#parts.log, error, { thread_id: this.#context.thread.id }, 'a turn failed')
    const status = error ? 'failed' : 'interrupted'
    if (this.#taking) await this.#taking
    this.#message?.cut()
    const content = this.#message?.content ?? ''
    const shown = error && this.#context.redactor.message(error.publicMessage)
    const about = { status, error: shown, ...this.#message?.origin } as const
    try {
      await this.#store({ role: 'assistant', content, ...about }, true)
      return this.#createUpdate(status, error)
    } catch (unstored) {
      const fault = toServiceError(unstored)
      // The thread was deleted together with its turn.
      if (fault.code === 'NOT_FOUND') return this.#createUpdate('interrupted')
      logFailure(
        this.#parts.log,
        fault,
        { thread_id: this.#context.thread.id },
        'the end of a turn could not be stored',
      )
      return this.#createUpdate('failed', fault)
    }
  }

  /** Stores a message of the turn and sends it. `ends` is true for the last message. */
  #store(said: NewMessage, ends: boolean, first?: ChatFrame): Promise<MessageTable> {
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
    const state = this.#createState()
    const unit = (tx: Tx): MessageTable => {
      if (ends) deleteTurn(tx, thread.key)
      else clearTurnDrafts(tx, state)
      return appendMessage(tx, message)
    }
    return new Promise((resolve, reject) => {
      store.writeThen(unit, (error, row) => {
        if (!row) return reject(error)
        // From here on the stored message replaces the partial message.
        this.#last_stored = row.sequence
        this.#message = null
        if (first) tell(first)
        tell(createMessageFrame(thread.id, row, said.content, (said.tool_calls ?? null) as Message['tool_calls']))
        resolve(row)
      })
    })
  }

  #createState(): TurnState {
    const { thread, id, choice } = this.#context
    const workflow_id = this.#message?.origin.workflow_id ?? choice.workflow_id ?? null
    const job_id = this.#message?.origin.job_id ?? null
    return { thread_key: thread.key, id, ...this.#chosen_model, workflow_id, job_id }
  }

  #createUpdate(status: TurnUpdateFrame['status'], error: ServiceError | null = null): TurnUpdateFrame {
    return {
      type: 'turn_update',
      thread_id: this.#context.thread.id,
      turn_id: this.#context.id,
      status,
      last_sequence: this.#last_stored,
      job_id: this.#job_id,
      error: error && this.#redactError(errorBodies.socket(error) as SocketError),
    }
  }

  /** An error may quote a workflow of the owner, and cut the quoted text. */
  #redactError(error: SocketError): SocketError {
    const { redactor } = this.#context
    const withoutSecrets = (_key: string, value: unknown) =>
      typeof value === 'string' ? redactor.message(value) : value
    return JSON.parse(JSON.stringify(error), withoutSecrets) as SocketError
  }
}

function createUpstreamError(message: string): ServiceError {
  return new ServiceError('UPSTREAM_ERROR', { message })
}
