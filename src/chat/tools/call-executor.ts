// Executes the tool calls of one answer in parallel, on the server or on the client. Each result is stored when it
// arrives.
import type { ChatToolCallFrame } from '../../../generated/types.ts'
import { isLongerAsJson } from '../../engine/node-api/values/json-length.ts'
import { ServiceError, toServiceError } from '../../errors.ts'
import { type Log, logFailure } from '../../log.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import { raceAbort } from '../abortable-work.ts'
import type { ChatFrame } from '../frames.ts'
import type { NewMessage } from '../message-storage.ts'
import { encodeResult, type RequestedToolCall, type TurnTools } from './turn-tools.ts'

/** Of one result, in characters. */
const MAX_RESULT_LENGTH = 1_000_000

/** The outcome of a tool. If there is an error, the result is ignored. */
export interface ToolOutcome {
  readonly result: unknown
  readonly error: string | null
  readonly job_id?: string | null
}

export interface ChatToolCallExecutorParts {
  readonly thread_id: string
  readonly turn_id: string
  readonly tools: TurnTools
  readonly redactor: Redactor
  readonly log: Log
  readonly tool_ms: number
  tell(frame: ChatFrame): void
  /** Stores a message of the turn; `first` is sent right before it. */
  store(said: NewMessage, first: ChatFrame): Promise<unknown>
}

interface OpenToolCall {
  readonly frame: ChatToolCallFrame
  readonly outcome: PromiseWithResolvers<ToolOutcome>
  readonly stored: PromiseWithResolvers<void>
}

export class ChatToolCallExecutor {
  readonly #parts: ChatToolCallExecutorParts
  readonly #open = new Map<string, OpenToolCall>()

  constructor(parts: ChatToolCallExecutorParts) {
    this.#parts = parts
  }

  /** The calls that wait for the client. */
  get open_calls(): ChatToolCallFrame[] {
    return [...this.#open.values()].map(({ frame }) => frame)
  }

  /**
   * Passes the client's outcome to an open call. Returns null if the call is not open; the promise settles when the
   * outcome is stored.
   */
  settleOpen(tool_call_id: string, outcome: ToolOutcome): Promise<void> | null {
    const open = this.#open.get(tool_call_id)
    if (!open) return null
    this.#open.delete(tool_call_id)
    open.outcome.resolve(outcome)
    return open.stored.promise
  }

  /** Executes all calls. @throws the signal's reason; what `store` throws */
  async execute(asked: readonly RequestedToolCall[], signal: AbortSignal): Promise<void> {
    const broken = new AbortController()
    const ending = AbortSignal.any([signal, broken.signal])
    try {
      await Promise.all(asked.map((one) => this.#executeCall(one, ending)))
    } finally {
      broken.abort()
      this.#open.clear()
    }
  }

  async #executeCall(asked: RequestedToolCall, signal: AbortSignal): Promise<void> {
    const { tools } = this.#parts
    const frame = this.#createFrame(asked)
    const tool = tools.server(asked.name)
    if (frame.executor === 'client') return this.#executeOnClient(asked, frame, signal)
    this.#parts.tell(tool ? { ...frame, name: tool.name } : frame)
    const outcome = await this.#executeOnServer(asked, signal)
    signal.throwIfAborted()
    await this.#storeResult(asked, tool?.name ?? asked.name, outcome)
  }

  #createFrame({ id, name, args }: RequestedToolCall): ChatToolCallFrame {
    const { thread_id, turn_id, tools, redactor } = this.#parts
    const executor = tools.isClientTool(name) ? 'client' : 'server'
    const shown = redactor.value(args ?? {}) as ChatToolCallFrame['arguments']
    return { type: 'tool_call_update', thread_id, turn_id, tool_call_id: id, name, arguments: shown, executor }
  }

  async #executeOnServer({ name, args, problem }: RequestedToolCall, signal: AbortSignal): Promise<ToolOutcome> {
    const tool = this.#parts.tools.server(name)
    if (!tool) return createFailure(`There is no tool "${name}".`)
    if (args === null) return createFailure(problem)
    const late = AbortSignal.timeout(this.#parts.tool_ms)
    try {
      const { result, job_id } = await raceAbort(tool.call(args, AbortSignal.any([signal, late])), signal)
      return { result, error: null, job_id }
    } catch (thrown) {
      signal.throwIfAborted()
      const error = toServiceError(thrown)
      if (late.aborted) return createUnsettledFailure('The tool took too long.', error)
      logFailure(this.#parts.log, error, { tool: tool.name }, 'a chat tool failed')
      const problems = error.problems.map(({ path, message }) => `${path} ${message}`).join('; ')
      const said = problems === '' ? error.publicMessage : `${error.publicMessage} ${problems}`
      return createUnsettledFailure(this.#parts.redactor.message(said), error)
    }
  }

  async #executeOnClient(asked: RequestedToolCall, frame: ChatToolCallFrame, signal: AbortSignal): Promise<void> {
    if (asked.args === null) {
      this.#parts.tell(frame)
      return this.#storeResult(asked, asked.name, createFailure(asked.problem))
    }
    const open: OpenToolCall = { frame, outcome: Promise.withResolvers(), stored: Promise.withResolvers() }
    open.stored.promise.catch(() => {})
    this.#open.set(asked.id, open)
    this.#parts.tell(frame)
    const late = setTimeout(() => {
      this.#open.delete(asked.id)
      open.outcome.resolve(createFailure('The client gave no result in time.'))
    }, this.#parts.tool_ms).unref()
    try {
      const outcome = await raceAbort(open.outcome.promise, signal)
      await this.#storeResult(asked, asked.name, outcome)
      open.stored.resolve()
    } catch (thrown) {
      open.stored.reject(signal.aborted ? new ServiceError('NOT_FOUND', { message: CALL_NOT_OPEN }) : thrown)
      throw thrown
    } finally {
      clearTimeout(late)
    }
  }

  async #storeResult({ id }: RequestedToolCall, name: string, outcome: ToolOutcome): Promise<void> {
    const { thread_id, turn_id, redactor, store } = this.#parts
    const shown = redactor.value(limitResult(outcome))
    const { error, job_id = null } = shown
    const result = (error === null ? (shown.result ?? null) : null) as never
    const content = error === null ? encodeResult(result) : `Error: ${error}`
    const status = error === null ? 'completed' : 'failed'
    await store(
      { role: 'tool', content, tool_call_id: id, status, error, job_id },
      { type: 'tool_result_update', thread_id, turn_id, tool_call_id: id, name, result, error },
    )
  }
}

export const CALL_NOT_OPEN = 'No tool call with this id waits for a result.'

function createFailure(error: string): ToolOutcome {
  return { result: null, error }
}

/** A failure whose job may still run: the message names the job, so that the model does not start it twice. */
function createUnsettledFailure(text: string, { job_id }: ServiceError): ToolOutcome {
  if (job_id === null) return createFailure(text)
  return { ...createFailure(`${text} The run ${job_id} may go on, or have ended: do not start it again.`), job_id }
}

function limitResult(outcome: ToolOutcome): ToolOutcome {
  const { result, error, job_id = null } = outcome
  // A very long result is measured without encoding it.
  const isLong =
    isLongerAsJson(result ?? null, MAX_RESULT_LENGTH) || encodeResult(result ?? null).length > MAX_RESULT_LENGTH
  if (error !== null || !isLong) return outcome
  return { ...createFailure(`The result has more than ${MAX_RESULT_LENGTH} characters.`), job_id }
}
