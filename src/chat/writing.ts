// The message that a turn is writing: what came so far, where each piece of it belongs, and what made it.
import type { ChatChunkFrame, CompletionUsage } from '../../generated/types.ts'
import type { AnswerPart } from '../completions/answering.ts'
import { Joined, usageOf } from '../completions/assembling.ts'
import type { ModelUse } from '../engine/services.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { RedactedStream } from '../redaction/stream.ts'
import { finish, type Steps } from '../time-slices.ts'

/** Characters: where more wait for a part, all of which it may decide about, it is taken in in steps. */
const LONG_WAIT = 4_096

/** What a message tells of its origin. */
export interface Origin {
  readonly provider: string | null
  readonly model: string | null
  readonly workflow_id: string | null
  readonly job_id: string | null
  readonly usage: CompletionUsage | null
}

export interface Place {
  readonly thread_id: string
  readonly turn_id: string
  /** That the message will have. */
  readonly sequence: number
}

export class Writing {
  readonly #place: Place
  readonly #streams: { readonly text: RedactedStream; readonly thinking: RedactedStream }
  readonly #joined = new Joined()
  #text = ''
  #thinking = ''
  #job: { readonly job_id: string; readonly workflow_id: string } | null = null
  #use: ModelUse | null = null

  constructor(place: Place, redactor: Redactor) {
    this.#place = place
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

  get calls() {
    return this.#joined.calls()
  }

  get origin(): Origin {
    const { workflow_id = null, job_id = null } = this.#job ?? {}
    const usage = this.#use && usageOf(this.#use)
    // A workflow answers with as many models as it likes.
    if (this.#job || !this.#use) return { provider: null, model: null, workflow_id, job_id, usage }
    const { model } = this.#use
    const slash = model.indexOf('/')
    return { provider: model.slice(0, slash), model: model.slice(slash + 1), workflow_id, job_id, usage }
  }

  used(use: ModelUse): void {
    this.#use = use
  }

  /** Whether a part is to be taken in in steps: a secret may keep half a million characters waiting. */
  get waitsLong(): boolean {
    const { text, thinking } = this.#streams
    return text.waiting + thinking.waiting > LONG_WAIT
  }

  /** As `takeSteps`, at once. */
  take(part: AnswerPart): ChatChunkFrame[] {
    return finish(this.takeSteps(part))
  }

  /**
   * Takes in a part, and gives the pieces that are new in the message. Of what may turn out to be a secret nothing is told; what interrupts a thought
   * does not decide about it. The next part comes, and the message is cut, when all steps are done.
   */
  *takeSteps(part: AnswerPart): Steps<ChatChunkFrame[]> {
    const { text, thinking } = this.#streams
    if (part.type === 'job') this.#job = part
    else if (part.type === 'tool_call') this.#joined.add(part)
    else if (part.type === 'thinking') return this.#piece(yield* thinking.pushSteps(part.text), true)
    else if (part.type !== 'end') return this.#piece(yield* text.pushSteps(part.text))
    else {
      this.#use = part.use
      return [...this.#piece(yield* thinking.endSteps(), true), this.#next(yield* text.endSteps(), false, true)]
    }
    return []
  }

  /** What came so far, for somebody who has nothing of it. */
  soFar(): ChatChunkFrame[] {
    return [
      ...(this.#thinking === '' ? [] : [this.#chunk(this.#thinking, 0, true)]),
      ...(this.#text === '' ? [] : [this.#chunk(this.#text, 0, false)]),
    ]
  }

  #piece(text: string, thinking = false): ChatChunkFrame[] {
    return text === '' ? [] : [this.#next(text, thinking, false)]
  }

  #next(text: string, thinking: boolean, done: boolean): ChatChunkFrame {
    const offset = thinking ? this.#thinking.length : this.#text.length
    if (thinking) this.#thinking += text
    else this.#text += text
    return this.#chunk(text, offset, thinking, done)
  }

  #chunk(content: string, offset: number, thinking: boolean, done = false): ChatChunkFrame {
    return { type: 'chunk', ...this.#place, offset, content, content_type: 'text', done, thinking }
  }
}
