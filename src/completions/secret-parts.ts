// The parts of an answer without secrets: servers may repeat the key that they were asked with, and models what a user keeps secret.
import { argumentsText, CallNames, type PiecedText } from '../redaction/call-texts.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { AnswerPart } from './answering.ts'

type TextPart = Extract<AnswerPart, { type: 'text' | 'thinking' | 'refusal' }>
type CallPart = Extract<AnswerPart, { type: 'tool_call' }>

/** The same parts, those in which nothing is replaced as they came. What may begin a secret waits for the next part of its text. */
export async function* withoutSecrets(
  parts: AsyncGenerator<AnswerPart, void, void>,
  redactor: Redactor,
): AsyncGenerator<AnswerPart, void, void> {
  const texts = new Texts(redactor)
  let isOver = false
  try {
    for await (const part of parts) {
      if (part.type === 'end') {
        isOver = true
        yield* texts.rest()
      }
      const shown = texts.shown(part)
      if (shown) yield shown
    }
  } catch (error) {
    if (!isOver) yield* texts.rest()
    throw error
  }
  if (!isOver) yield* texts.rest()
}

/** The texts of one answer: one of each kind, and one for the arguments of each call. */
class Texts {
  readonly #redactor: Redactor
  readonly #tails = new Map<string, { readonly tail: PiecedText; last: TextPart | CallPart }>()
  readonly #names: CallNames

  constructor(redactor: Redactor) {
    this.#redactor = redactor
    this.#names = new CallNames(redactor.secretTail())
  }

  /** Null where all of a part waits. */
  shown(part: AnswerPart): AnswerPart | null {
    if (part.type === 'job' || part.type === 'end') return part
    if (part.type === 'tool_call') return this.#shownCall(part)
    const text = this.#tail(part.type, part).push(part.text)
    if (text === part.text) return part
    return text === '' ? null : { ...part, text }
  }

  *rest(): Generator<AnswerPart, void, void> {
    for (const { tail, last } of this.#tails.values()) {
      const text = tail.end()
      if (text === '') continue
      if (last.type === 'tool_call') yield { type: 'tool_call', index: last.index, arguments: text }
      else yield { ...last, text }
    }
    this.#tails.clear()
  }

  #shownCall(part: CallPart): CallPart {
    const text = this.#tail(`call ${part.index}`, part).push(part.arguments)
    const whole = this.#redactor.value({ id: part.id, name: part.name }, { credentials: false })
    const { id } = whole
    const name = whole.name === undefined ? undefined : this.#names.shown(whole.name)
    if (text === part.arguments && id === part.id && name === part.name) return part
    return { ...part, ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }), arguments: text }
  }

  #tail(key: string, part: TextPart | CallPart): PiecedText {
    const present = this.#tails.get(key)
    if (present) {
      present.last = part
      return present.tail
    }
    const found = this.#redactor.secretTail()
    const tail = part.type === 'tool_call' ? argumentsText(found, part.custom === true) : found
    this.#tails.set(key, { tail, last: part })
    return tail
  }
}
