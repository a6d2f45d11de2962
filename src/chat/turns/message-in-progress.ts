// The message that a turn is writing: what came so far, where each piece of it belongs, and what made it.
import type { ChatChunkFrame, CompletionUsage } from '../../../generated/types.ts'
import type { AnswerPart } from '../../completions/answers/generator.ts'
import { MessageBuilder, toCompletionUsage } from '../../completions/answers/openai-format.ts'
import type { ModelUsage } from '../../engine/node-api/node-services.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import { RedactedStream } from '../../redaction/streams/redacted-stream.ts'
import { runToCompletion, type Steps } from '../../shared/time-slices.ts'

/** Characters: where more wait for a part, all of which it may decide about, it is taken in in steps. */
const LONG_WAIT_LENGTH = 4_096

/** What a message tells of its origin. */
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
  /** That the message will have. */
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

  /** What was told of it: all, once it has come to its end or was cut. */
  get content(): string {
    return this.#text
  }

  /** Nothing more comes, though more was meant to. What is held back belongs to the content now, unless it may be a part of a secret. */
  cut(): void {
    this.#text += this.#streams.text.cut()
  }

  get tool_calls() {
    return this.#builder.toolCalls()
  }

  get origin(): MessageOrigin {
    const { workflow_id = null, job_id = null } = this.#job ?? {}
    const usage = this.#use && toCompletionUsage(this.#use)
    // A workflow answers with as many models as it likes.
    if (this.#job || !this.#use) return { provider: null, model: null, workflow_id, job_id, usage }
    const { model } = this.#use
    const slash = model.indexOf('/')
    return { provider: model.slice(0, slash), model: model.slice(slash + 1), workflow_id, job_id, usage }
  }

  recordUse(use: ModelUsage): void {
    this.#use = use
  }

  /** Whether a part is to be taken in in steps: a secret may keep half a million characters waiting. */
  get isWaitingLong(): boolean {
    const { text, thinking } = this.#streams
    return text.waiting + thinking.waiting > LONG_WAIT_LENGTH
  }

  /** As `takeSteps`, at once. */
  take(part: AnswerPart): ChatChunkFrame[] {
    return runToCompletion(this.takeSteps(part))
  }

  /**
   * Takes in a part, and gives the pieces that are new in the message. Of what may turn out to be a secret nothing is told; what interrupts a thought
   * does not decide about it. The next part comes, and the message is cut, when all steps are done.
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

  /** What came so far, for somebody who has nothing of it. */
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
