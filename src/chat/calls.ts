// The calls of tools that one answer asks for: carried out side by side, by the server or by the client, each result stored as it comes.
import type { ChatToolCallFrame } from '../../generated/types.ts'
import { isLongerAsJson } from '../engine/measure.ts'
import { ServiceError, toServiceError } from '../errors.ts'
import { type Log, logFailure } from '../log.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { unlessAborted } from './abortable.ts'
import type { Said } from './appending.ts'
import type { ChatFrame } from './frames.ts'
import { type Asked, contentOf, type Tools } from './tools.ts'

/** Of one result, in characters. */
const LONGEST_RESULT = 1_000_000

/** What a tool came to. With an error the result counts for nothing. */
export interface Outcome {
  readonly result: unknown
  readonly error: string | null
  readonly job_id?: string | null
}

export interface CallsParts {
  readonly thread_id: string
  readonly turn_id: string
  readonly tools: Tools
  readonly redactor: Redactor
  readonly log: Log
  readonly tool_ms: number
  tell(frame: ChatFrame): void
  /** Stores a message of the turn; `first` is told right before it. */
  store(said: Said, first: ChatFrame): Promise<unknown>
}

interface Open {
  readonly frame: ChatToolCallFrame
  readonly outcome: PromiseWithResolvers<Outcome>
  readonly stored: PromiseWithResolvers<void>
}

export class Calls {
  readonly #parts: CallsParts
  readonly #open = new Map<string, Open>()

  constructor(parts: CallsParts) {
    this.#parts = parts
  }

  /** The calls that wait for the client. */
  get open(): ChatToolCallFrame[] {
    return [...this.#open.values()].map(({ frame }) => frame)
  }

  /** Gives an open call what the client says. Null where there is none; settles when it is stored. */
  answer(tool_call_id: string, outcome: Outcome): Promise<void> | null {
    const open = this.#open.get(tool_call_id)
    if (!open) return null
    this.#open.delete(tool_call_id)
    open.outcome.resolve(outcome)
    return open.stored.promise
  }

  /** All of them, to their ends. @throws the signal's reason; what `store` throws */
  async carryOut(asked: readonly Asked[], signal: AbortSignal): Promise<void> {
    const broken = new AbortController()
    const ending = AbortSignal.any([signal, broken.signal])
    try {
      await Promise.all(asked.map((one) => this.#carryOut(one, ending)))
    } finally {
      broken.abort()
      this.#open.clear()
    }
  }

  async #carryOut(asked: Asked, signal: AbortSignal): Promise<void> {
    const { tools } = this.#parts
    const frame = this.#frame(asked)
    const tool = tools.server(asked.name)
    if (frame.executor === 'client') return this.#byClient(asked, frame, signal)
    this.#parts.tell(tool ? { ...frame, name: tool.name } : frame)
    const outcome = await this.#byServer(asked, signal)
    signal.throwIfAborted()
    await this.#settle(asked, tool?.name ?? asked.name, outcome)
  }

  #frame({ id, name, args }: Asked): ChatToolCallFrame {
    const { thread_id, turn_id, tools, redactor } = this.#parts
    const executor = tools.isClients(name) ? 'client' : 'server'
    const shown = redactor.value(args ?? {}) as ChatToolCallFrame['arguments']
    return { type: 'tool_call_update', thread_id, turn_id, tool_call_id: id, name, arguments: shown, executor }
  }

  async #byServer({ name, args, lack }: Asked, signal: AbortSignal): Promise<Outcome> {
    const tool = this.#parts.tools.server(name)
    if (!tool) return failed(`There is no tool "${name}".`)
    if (args === null) return failed(lack)
    const late = AbortSignal.timeout(this.#parts.tool_ms)
    try {
      const { result, job_id } = await unlessAborted(tool.call(args, AbortSignal.any([signal, late])), signal)
      return { result, error: null, job_id }
    } catch (thrown) {
      signal.throwIfAborted()
      const error = toServiceError(thrown)
      if (late.aborted) return unsettled('The tool took too long.', error)
      logFailure(this.#parts.log, error, { tool: tool.name }, 'a tool of a chat failed')
      const problems = error.problems.map(({ path, message }) => `${path} ${message}`).join('; ')
      const said = problems === '' ? error.publicMessage : `${error.publicMessage} ${problems}`
      return unsettled(this.#parts.redactor.message(said), error)
    }
  }

  async #byClient(asked: Asked, frame: ChatToolCallFrame, signal: AbortSignal): Promise<void> {
    if (asked.args === null) {
      this.#parts.tell(frame)
      return this.#settle(asked, asked.name, failed(asked.lack))
    }
    const open: Open = { frame, outcome: Promise.withResolvers(), stored: Promise.withResolvers() }
    open.stored.promise.catch(() => {})
    this.#open.set(asked.id, open)
    this.#parts.tell(frame)
    const late = setTimeout(() => {
      this.#open.delete(asked.id)
      open.outcome.resolve(failed('The client gave no result in time.'))
    }, this.#parts.tool_ms).unref()
    try {
      const outcome = await unlessAborted(open.outcome.promise, signal)
      await this.#settle(asked, asked.name, outcome)
      open.stored.resolve()
    } catch (thrown) {
      open.stored.reject(signal.aborted ? new ServiceError('NOT_FOUND', { message: NOT_OPEN }) : thrown)
      throw thrown
    } finally {
      clearTimeout(late)
    }
  }

  async #settle({ id }: Asked, name: string, outcome: Outcome): Promise<void> {
    const { thread_id, turn_id, redactor, store } = this.#parts
    const shown = redactor.value(bounded(outcome))
    const { error, job_id = null } = shown
    const result = (error === null ? (shown.result ?? null) : null) as never
    const content = error === null ? contentOf(result) : `Error: ${error}`
    const status = error === null ? 'completed' : 'failed'
    await store(
      { role: 'tool', content, tool_call_id: id, status, error, job_id },
      { type: 'tool_result_update', thread_id, turn_id, tool_call_id: id, name, result, error },
    )
  }
}

export const NOT_OPEN = 'No call of that id waits for a result.'

function failed(error: string): Outcome {
  return { result: null, error }
}

/** A failure after which a job may be under way: it is named, so that the model does not start it twice. */
function unsettled(text: string, { job_id }: ServiceError): Outcome {
  if (job_id === null) return failed(text)
  return { ...failed(`${text} The run ${job_id} may go on, or have ended: do not start it again.`), job_id }
}

function bounded(outcome: Outcome): Outcome {
  const { result, error, job_id = null } = outcome
  // Of a very long one no text is made.
  const isLong = isLongerAsJson(result ?? null, LONGEST_RESULT) || contentOf(result ?? null).length > LONGEST_RESULT
  if (error !== null || !isLong) return outcome
  return { ...failed(`The result has more than ${LONGEST_RESULT} characters.`), job_id }
}
