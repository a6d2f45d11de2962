// One turn: the answer to one message of the user, with all its model and tool calls. It does not depend on a socket,
// sends its frames as they occur, and always ends with a stored message.
import type { SocketError, ToolCall, TurnUpdateFrame } from '../../../generated/types.ts'
import type { OwnerScope } from '../../db/owner-scope.ts'
import { errorBodies, ServiceError, toServiceError } from '../../errors.ts'
import { logFailure } from '../../log.ts'
import type { ChatFrame } from '../frames.ts'
import { parseModelChoice } from '../model-choice.ts'
import { redactWith } from '../owner-redaction.ts'
import { ChatToolCallExecutor, type ToolOutcome } from '../tools/call-executor.ts'
import { ToolCallIds } from '../tools/call-ids.ts'
import { getToolName, parseToolCalls, renameToolCall } from '../tools/turn-tools.ts'
import { AnswerWriter } from './answer-writer.ts'
import { PartialMessageWriter } from './partial-message-writer.ts'
import { type TurnContext, type TurnParts, type TurnProgress, toTurnState } from './turn-context.ts'
import { TurnMessageStore } from './turn-message-store.ts'

export class Turn {
  readonly #parts: TurnParts
  readonly #context: TurnContext
  readonly #progress: TurnProgress
  readonly #stop = new AbortController()
  readonly #answers: AnswerWriter
  readonly #messages: TurnMessageStore
  readonly #tool_calls: ChatToolCallExecutor
  readonly #tool_call_ids: ToolCallIds

  constructor(parts: TurnParts, context: TurnContext) {
    const { choice, redactor, thread, tools } = context
    const progress: TurnProgress = {
      message: null,
      chosen_model: parseModelChoice(choice, parts.choices.providers),
      job_id: null,
      last_sequence: thread.last_sequence,
    }
    const partial_writer = new PartialMessageWriter(parts.store, parts.limits, () => toTurnState(context, progress))
    const tool_call_ids = new ToolCallIds(() => parts.platform.id('call'), redactor)
    const messages = new TurnMessageStore(parts, context, progress, partial_writer)
    this.#parts = parts
    this.#context = context
    this.#progress = progress
    this.#messages = messages
    this.#tool_call_ids = tool_call_ids
    this.#answers = new AnswerWriter(parts, context, progress, { partial_writer, tool_call_ids }, this.#stop.signal)
    this.#tool_calls = new ChatToolCallExecutor({
      thread_id: thread.id,
      turn_id: context.id,
      tools,
      redactor,
      log: parts.log,
      tool_ms: parts.limits.tool_ms,
      tell: context.tell,
      store: (said, first) => messages.store(said, false, first),
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
    return this.#progress.last_sequence
  }

  /** Ends the turn soon, as interrupted. */
  interrupt(): void {
    this.#stop.abort()
  }

  /** The frames that a new follower needs. */
  createCatchUpFrames(): ChatFrame[] {
    return [...(this.#progress.message?.createCatchUpChunks() ?? []), ...this.#tool_calls.open_calls]
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
      const writing = await this.#answers.write(last)
      const { content, origin } = writing
      const calls = await this.#assignOwnIds(writing.tool_calls)
      if (calls.length === 0) {
        await this.#messages.store({ role: 'assistant', content, ...origin }, true)
        return
      }
      if (last || calls.length > limits.calls)
        throw createUpstreamError('The model called tools more often than one turn allows.')
      if (calls.some((call) => getToolName(call) === ''))
        throw createUpstreamError('The model called a tool without a name.')
      const tool_calls = await this.#redact(calls)
      this.#stop.signal.throwIfAborted()
      await this.#messages.store(
        { role: 'assistant', content: content === '' ? null : content, tool_calls, ...origin },
        false,
      )
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

  /** Stores the partial message of a turn that failed or was interrupted. */
  async #storeUnfinished(thrown: unknown): Promise<TurnUpdateFrame> {
    const error = this.#stop.signal.aborted ? null : toServiceError(thrown)
    if (error) logFailure(this.#parts.log, error, { thread_id: this.#context.thread.id }, 'a turn failed')
    const status = error ? 'failed' : 'interrupted'
    if (this.#answers.taking) await this.#answers.taking
    const { message } = this.#progress
    message?.cut()
    const content = message?.content ?? ''
    const shown = error && this.#context.redactor.message(error.publicMessage)
    const about = { status, error: shown, ...message?.origin } as const
    try {
      await this.#messages.store({ role: 'assistant', content, ...about }, true)
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

  #createUpdate(status: TurnUpdateFrame['status'], error: ServiceError | null = null): TurnUpdateFrame {
    return {
      type: 'turn_update',
      thread_id: this.#context.thread.id,
      turn_id: this.#context.id,
      status,
      last_sequence: this.#progress.last_sequence,
      job_id: this.#progress.job_id,
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
