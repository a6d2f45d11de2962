// The parts of an answer without secrets: servers may repeat the key that they were asked with, and models what a user keeps secret.
import type { Redactor } from '../redaction/redactor.ts'
import type { SecretTail } from '../redaction/secret-tail.ts'
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
  readonly #tails = new Map<string, { readonly tail: SecretTail; last: TextPart | CallPart }>()

  constructor(redactor: Redactor) {
    this.#redactor = redactor
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
    const names = this.#redactor.value({ id: part.id, name: part.name }, { credentials: false })
    if (text === part.arguments && names.id === part.id && names.name === part.name) return part
    const { id, name } = names
    return { ...part, ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }), arguments: text }
  }

  #tail(key: string, part: TextPart | CallPart): SecretTail {
    const present = this.#tails.get(key)
    if (present) {
      present.last = part
      return present.tail
    }
    const tail = this.#redactor.secretTail()
    this.#tails.set(key, { tail, last: part })
    return tail
  }
}
