// The message that a turn is writing: its text so far, the position of each piece, and its origin.
import type { ChatChunkFrame, CompletionUsage } from '../../../generated/types.ts'
import type { AnswerPart } from '../../completions/answers/generator.ts'
import { MessageBuilder, toCompletionUsage } from '../../completions/answers/openai-format.ts'
import type { ModelUsage } from '../../engine/node-api/services/models.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import { RedactedStream } from '../../redaction/streams/redacted-stream.ts'
import { runToCompletion, type Steps } from '../../shared/time-slices.ts'

/** In characters: if more text is held, a part that may release all of it is processed in steps. */
const LONG_WAIT_LENGTH = 4_096

/** What produced a message. */
export interface MessageOrigin {
  readonly provider: string | null
  readonly model: string | null
  readonly workflow_id: string | null
  readonly job_id: string | null
  readonly usage: CompletionUsage | null
}

export interface MessagePosition {
  readonly thread_id: string
  readonly turn_id: string
  /** The future sequence number of the message. */
  readonly sequence: number
}

export class MessageInProgress {
  readonly #position: MessagePosition
  readonly #streams: { readonly text: RedactedStream; readonly thinking: RedactedStream }
  readonly #builder = new MessageBuilder()
  #text = ''
  #thinking = ''
  #job: { readonly job_id: string; readonly workflow_id: string } | null = null
  #use: ModelUsage | null = null

  constructor(place: MessagePosition, redactor: Redactor) {
    this.#position = place
    this.#streams = { text: new RedactedStream(redactor), thinking: new RedactedStream(redactor) }
  }

  /** The text that was sent so far; the whole text after the message has ended or was cut. */
  get content(): string {
    return this.#text
  }

  /** Ends the message early. Held text is added to the content, unless it may be a part of a secret. */
  cut(): void {
    this.#text += this.#streams.text.cut()
  }

  get tool_calls() {
    return this.#builder.toolCalls()
  }

  get origin(): MessageOrigin {
    const { workflow_id = null, job_id = null } = this.#job ?? {}
    const usage = this.#use && toCompletionUsage(this.#use)
    // A workflow may use several models, so none is named.
    if (this.#job || !this.#use) return { provider: null, model: null, workflow_id, job_id, usage }
    const { model } = this.#use
    const slash = model.indexOf('/')
    return { provider: model.slice(0, slash), model: model.slice(slash + 1), workflow_id, job_id, usage }
  }

  recordUse(use: ModelUsage): void {
    this.#use = use
  }

  /** Whether the next part must be processed in steps: up to half a million characters may be held for a secret. */
  get isWaitingLong(): boolean {
    const { text, thinking } = this.#streams
    return text.waiting + thinking.waiting > LONG_WAIT_LENGTH
  }

  /** Like `takeSteps`, at once. */
  take(part: AnswerPart): ChatChunkFrame[] {
    return runToCompletion(this.takeSteps(part))
  }

  /**
   * Processes a part and returns the new pieces of the message. Text that may begin a secret is held; text of the other
   * kind between its pieces does not release it. Only after all steps may the next part come or the message be cut.
   */
  *takeSteps(part: AnswerPart): Steps<ChatChunkFrame[]> {
    const { text, thinking } = this.#streams
    if (part.type === 'job') this.#job = part
    else if (part.type === 'tool_call') this.#builder.add(part)
    else if (part.type === 'thinking') return this.#createChunks(yield* thinking.pushSteps(part.text), true)
    else if (part.type !== 'end') return this.#createChunks(yield* text.pushSteps(part.text))
    else {
      this.#use = part.use
      return [
        ...this.#createChunks(yield* thinking.endSteps(), true),
        this.#appendChunk(yield* text.endSteps(), false, true),
      ]
    }
    return []
  }

  /** The message so far, for a new follower. */
  createCatchUpChunks(): ChatChunkFrame[] {
    return [
      ...(this.#thinking === '' ? [] : [this.#createChunk(this.#thinking, 0, true)]),
      ...(this.#text === '' ? [] : [this.#createChunk(this.#text, 0, false)]),
    ]
  }

  #createChunks(text: string, thinking = false): ChatChunkFrame[] {
    return text === '' ? [] : [this.#appendChunk(text, thinking, false)]
  }

  #appendChunk(text: string, thinking: boolean, done: boolean): ChatChunkFrame {
    const offset = thinking ? this.#thinking.length : this.#text.length
    if (thinking) this.#thinking += text
    else this.#text += text
    return this.#createChunk(text, offset, thinking, done)
  }

  #createChunk(content: string, offset: number, thinking: boolean, done = false): ChatChunkFrame {
    return { type: 'chunk', ...this.#position, offset, content, content_type: 'text', done, thinking }
  }
}
