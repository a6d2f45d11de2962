// One turn: the answer to one message of the user, however many models and tools it takes. It lives without any socket, tells what happens as it
// happens, and ends with a stored message in every case.
import type {
  ChatChunkFrame,
  ChatCompletionRequest,
  Message,
  SocketError,
  ToolCall,
  TurnUpdateFrame,
} from '../../generated/types.ts'
import type { Answering, AnswerPart } from '../completions/answering.ts'
import type { MessageTable } from '../db/schema.ts'
import { type Scope, userKey } from '../db/scope.ts'
import type { Store, Tx } from '../db/store.ts'
import { clearDrafts, deleteTurn, type TurnState, threadByKey } from '../db/threads.ts'
import type { ModelUse } from '../engine/services.ts'
import { Slice } from '../engine/slice.ts'
import { errorBodies, ServiceError, toServiceError } from '../errors.ts'
import { type Log, logFailure } from '../log.ts'
import type { Platform } from '../platform.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { TimeSlices } from '../time-slices.ts'
import type { Places } from '../workers/places.ts'
import { takeAll, unlessAborted } from './abortable.ts'
import { append, type Said, type Texts, textsOf, unplaced } from './appending.ts'
import { CallIds } from './call-ids.ts'
import { Calls, NOT_OPEN, type Outcome } from './calls.ts'
import { conversationSteps } from './conversation.ts'
import { Drafts } from './drafts.ts'
import { type ChatFrame, messageFrame } from './frames.ts'
import type { ChatLimits } from './limits.ts'
import { type ChoiceParts, type Chosen, chosenOf, type ModelChoice, modelOf, namedOf } from './model-choice.ts'
import { plainerThan } from './plainer.ts'
import { redactedBy } from './redacting.ts'
import { askedOf, nameOf, renamed, type Tools } from './tools.ts'
import { Writing } from './writing.ts'

/** How often older messages are made plainer one by one, before all are. */
const TRIES = 4

export interface TurnParts {
  readonly store: Store
  /** Reads and redacts long messages in time slices of their users. */
  readonly slices: Pick<TimeSlices, 'run' | 'begin'>
  readonly platform: Platform
  readonly log: Log
  readonly completions: Answering
  readonly choices: ChoiceParts
  readonly limits: ChatLimits
  /** For turns of long threads, each of which holds what it sends. */
  readonly long_turns: Places
}

export interface TurnOf {
  readonly id: string
  readonly owner: Scope
  readonly thread: { readonly id: string; readonly key: number; readonly last_sequence: number }
  readonly choice: ModelChoice
  readonly tools: Tools
  /** The owner's. */
  readonly redactor: Redactor
  tell(frame: ChatFrame): void
}

export class Turn {
  readonly #parts: TurnParts
  readonly #of: TurnOf
  readonly #stop = new AbortController()
  readonly #calls: Calls
  readonly #drafts: Drafts
  readonly #ids: CallIds
  readonly #slice: Slice
  #last: number
  #job_id: string | null = null
  #writing: Writing | null = null
  /** A part is being taken in, in steps. It does not reject. */
  #taking: Promise<void> | null = null
  /** Its last message is being stored. */
  #isEnding = false
  #chosen: Chosen

  constructor(parts: TurnParts, of: TurnOf) {
    this.#parts = parts
    this.#of = of
    this.#last = of.thread.last_sequence
    this.#chosen = chosenOf(of.choice, parts.choices.providers)
    this.#drafts = new Drafts(parts.store, parts.limits, () => this.#state())
    this.#slice = new Slice(userKey(of.owner))
    this.#ids = new CallIds(() => parts.platform.id('call'), of.redactor)
    this.#calls = new Calls({
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
    return this.#of.id
  }

  get owner(): Scope {
    return this.#of.owner
  }

  /** Of its thread's last stored message. */
  get last_sequence(): number {
    return this.#last
  }

  /** Ends it soon, as interrupted. */
  interrupt(): void {
    this.#stop.abort()
  }

  /** What somebody has to be told who comes to follow it. */
  soFar(): ChatFrame[] {
    return [...(this.#writing?.soFar() ?? []), ...this.#calls.open]
  }

  /** What a tool of the client gave; null where nothing waits for it. */
  answer(tool_call_id: string, outcome: Outcome): Promise<void> | null {
    return this.#calls.answer(tool_call_id, outcome)
  }

  begun(): TurnUpdateFrame {
    return this.#update('running')
  }

  /** To its end, which is stored before it is told with `ended`. It never throws. */
  async run(ended: (frame: TurnUpdateFrame) => void): Promise<void> {
    const end = await this.#answers().then(
      () => this.#update('completed'),
      (thrown) => this.#cut(thrown),
    )
    ended(end)
  }

  async #answers(): Promise<void> {
    const { limits } = this.#parts
    for (let step = 1; ; step++) {
      const last = step >= limits.steps
      const writing = await this.#write(last)
      const { content, origin } = writing
      const calls = await this.#ownCalls(writing.calls)
      if (calls.length === 0) {
        await this.#store({ role: 'assistant', content, ...origin }, true)
        return
      }
      if (last || calls.length > limits.calls) throw wrong('The model called tools more often than one turn allows.')
      if (calls.some((call) => nameOf(call) === '')) throw wrong('The model called a tool without a name.')
      const tool_calls = await this.#redacted(calls)
      this.#stop.signal.throwIfAborted()
      await this.#store({ role: 'assistant', content: content === '' ? null : content, tool_calls, ...origin }, false)
      await this.#calls.carryOut(askedOf(calls), this.#stop.signal)
    }
  }

  /** Under ids of our own, and without secrets in the names of their tools. */
  async #ownCalls(calls: readonly ToolCall[]): Promise<ToolCall[]> {
    if (calls.length === 0) return []
    const names = await this.#redacted(calls.map(nameOf))
    return calls.map((call, at) => renamed(call, this.#ids.own(call.id), names[at]!))
  }

  /** A model may write millions of characters: they are looked through in time slices of the owner. */
  #redacted<T>(value: T): T | Promise<T> {
    return redactedBy(this.#of.redactor, this.#parts.slices, this.#of.owner, value)
  }

  /** Has the next message written, to its end. In a long thread it waits until few others do. */
  async #write(last: boolean): Promise<Writing> {
    this.#stop.signal.throwIfAborted()
    if (!this.#isLong) return await this.#written(last)
    const { long_turns } = this.#parts
    const owner = userKey(this.#of.owner)
    await long_turns.turn(owner, this.#stop.signal)
    try {
      return await this.#written(last)
    } finally {
      long_turns.giveBack(owner)
    }
  }

  get #isLong(): boolean {
    const { store, limits } = this.#parts
    const thread = store.read((tx) => threadByKey(tx, this.#of.thread.key))
    return (thread?.size ?? 0) > 2 * limits.sent_size
  }

  async #written(last: boolean): Promise<Writing> {
    const { thread, redactor, id } = this.#of
    const writing = new Writing({ thread_id: thread.id, turn_id: id, sequence: this.#last + 1 }, redactor)
    this.#writing = writing
    let body: ChatCompletionRequest | null = await this.#request(last)
    for (let again = 0; body; again++) body = await this.#ask(body, writing, again >= TRIES)
    return writing
  }

  /** Null when all is written; else what may be asked instead. */
  async #ask(body: ChatCompletionRequest, writing: Writing, tried: boolean): Promise<ChatCompletionRequest | null> {
    const { signal } = this.#stop
    let begun = false
    const used = (use: ModelUse) => writing.used(use)
    try {
      await takeAll(this.#parts.completions.answer(this.#of.owner, body, { signal, used }), signal, (part) => {
        begun = true
        return this.#take(part, writing)
      })
      return null
    } catch (thrown) {
      const messages = begun ? null : plainerThan(body.messages, thrown, tried)
      if (messages === null) throw thrown
      return { ...body, messages }
    }
  }

  /** What is told reaches everybody who follows the thread: it has its part of the thread's time, and a promise where that is over. */
  #take(part: AnswerPart, writing: Writing): Promise<void> | null {
    if (writing.waitsLong && part.type !== 'job') return this.#takeLong(part, writing)
    if (!this.#slice.passed(performance.now())) return this.#told(part, writing)
    return this.#slice.turn().then(() => {
      if (!this.#stop.signal.aborted) this.#told(part, writing)
    })
  }

  /** As `#take`, in time slices of the owner. */
  #takeLong(part: AnswerPart, writing: Writing): Promise<void> {
    const taking = this.#parts.slices.run(userKey(this.#of.owner), writing.takeSteps(part)).then((chunks) => {
      if (!this.#stop.signal.aborted) this.#tellChunks(chunks)
    })
    this.#taking = taking.catch(() => {})
    return taking
  }

  #told(part: AnswerPart, writing: Writing): null {
    if (part.type === 'job') {
      this.#job_id = part.job_id
      this.#drafts.changed()
    }
    this.#tellChunks(writing.take(part))
    return null
  }

  #tellChunks(chunks: readonly ChatChunkFrame[]): void {
    for (const chunk of chunks) {
      this.#of.tell(chunk)
      if (!chunk.thinking) this.#drafts.grew(chunk.content)
    }
  }

  async #request(last: boolean): Promise<ChatCompletionRequest> {
    const { store, slices, choices, limits } = this.#parts
    const { choice, owner, thread, tools } = this.#of
    const model = await unlessAborted(modelOf(choice, owner, choices, this.#stop.signal), this.#stop.signal)
    this.#chosen = namedOf(model, choices.providers)
    this.#drafts.changed()
    const conversation = await slices.run(userKey(owner), conversationSteps(store, thread.key, limits))
    this.#stop.signal.throwIfAborted()
    const messages = this.#ids.known(conversation)
    const { definitions } = tools
    if (definitions.length === 0) return { model, messages }
    return { model, messages, tools: [...definitions], ...(last ? { tool_choice: 'none' } : {}) }
  }

  /** Keeps what there is of a turn that did not come to its end. */
  async #cut(thrown: unknown): Promise<TurnUpdateFrame> {
    const error = this.#stop.signal.aborted ? null : toServiceError(thrown)
    if (error) logFailure(this.#parts.log, error, { thread_id: this.#of.thread.id }, 'a turn failed')
    const status = error ? 'failed' : 'interrupted'
    if (this.#taking) await this.#taking
    this.#writing?.cut()
    const content = this.#writing?.content ?? ''
    const shown = error && this.#of.redactor.message(error.publicMessage)
    const about = { status, error: shown, ...this.#writing?.origin } as const
    try {
      await this.#store({ role: 'assistant', content, ...about }, true)
      return this.#update(status, error)
    } catch (unstored) {
      const fault = toServiceError(unstored)
      // Its thread was deleted, and with it all that there was of the turn.
      if (fault.code === 'NOT_FOUND') return this.#update('interrupted')
      logFailure(this.#parts.log, fault, { thread_id: this.#of.thread.id }, 'the end of a turn could not be stored')
      return this.#update('failed', fault)
    }
  }

  /** Stores a message of the turn and tells it. `ends`: it is the last one. */
  #store(said: Said, ends: boolean, first?: ChatFrame): Promise<MessageTable> {
    if (ends) this.#isEnding = true
    const texts = textsOf(this.#parts.slices, this.#of.owner, said)
    if (!(texts instanceof Promise)) return this.#storeWritten(said, texts, ends, first)
    return texts.then((written) => {
      // The result of a call whose turn was ended meanwhile would stand behind that, or in the next turn.
      if (this.#isEnding && !ends) throw new ServiceError('NOT_FOUND', { message: NOT_OPEN })
      return this.#storeWritten(said, written, ends, first)
    })
  }

  #storeWritten(said: Said, texts: Texts, ends: boolean, first?: ChatFrame): Promise<MessageTable> {
    const { store, platform } = this.#parts
    const { thread, id, tell } = this.#of
    const message = unplaced(thread.key, { ...said, turn_id: id }, platform, texts.content, texts.tool_calls)
    this.#drafts.settle()
    const state = this.#state()
    const unit = (tx: Tx): MessageTable => {
      if (ends) deleteTurn(tx, thread.key)
      else clearDrafts(tx, state)
      return append(tx, message)
    }
    return new Promise((resolve, reject) => {
      store.writeThen(unit, (error, row) => {
        if (!row) return reject(error)
        // From here on the stored message counts.
        this.#last = row.sequence
        this.#writing = null
        if (first) tell(first)
        tell(messageFrame(thread.id, row, said.content, (said.tool_calls ?? null) as Message['tool_calls']))
        resolve(row)
      })
    })
  }

  #state(): TurnState {
    const { thread, id, choice } = this.#of
    const workflow_id = this.#writing?.origin.workflow_id ?? choice.workflow_id ?? null
    const job_id = this.#writing?.origin.job_id ?? null
    return { thread_key: thread.key, id, ...this.#chosen, workflow_id, job_id }
  }

  #update(status: TurnUpdateFrame['status'], error: ServiceError | null = null): TurnUpdateFrame {
    return {
      type: 'turn_update',
      thread_id: this.#of.thread.id,
      turn_id: this.#of.id,
      status,
      last_sequence: this.#last,
      job_id: this.#job_id,
      error: error && this.#shown(errorBodies.socket(error) as SocketError),
    }
  }

  /** An error may quote a workflow of the owner, and cut what it quotes. */
  #shown(error: SocketError): SocketError {
    const { redactor } = this.#of
    const withoutSecrets = (_key: string, value: unknown) =>
      typeof value === 'string' ? redactor.message(value) : value
    return JSON.parse(JSON.stringify(error), withoutSecrets) as SocketError
  }
}

function wrong(message: string): ServiceError {
  return new ServiceError('UPSTREAM_ERROR', { message })
}
