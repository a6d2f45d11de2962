// The parts of an answer without secrets: servers may repeat the key that they were asked with, and models what a user keeps secret.
import { argumentsText, CallNames, type PiecedText } from '../redaction/call-texts.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { finish, type OwnerTurns, type Steps, type TimeSlices } from '../time-slices.ts'
import type { AnswerPart } from './answering.ts'

type TextPart = Extract<AnswerPart, { type: 'text' | 'thinking' | 'refusal' }>
type CallPart = Extract<AnswerPart, { type: 'tool_call' }>

/**
 * A part of more characters, with those that wait for it, is looked through in time slices: where very many secrets begin as they do, each character
 * takes microseconds.
 */
const LONG_PART = 1_024

/** In whose time the parts are looked through. */
export interface Looking {
  readonly redactor: Redactor
  readonly slices: Pick<TimeSlices, 'run' | 'turnsOf'>
  /** Whose turns these are. */
  readonly user: string
}

/** The same parts, those in which nothing is replaced as they came. What may begin a secret waits for the next part of its text. */
export async function* withoutSecrets(
  parts: AsyncGenerator<AnswerPart, void, void>,
  { redactor, slices, user }: Looking,
): AsyncGenerator<AnswerPart, void, void> {
  const texts = new Texts(redactor)
  const turns = slices.turnsOf(user)
  let isOver = false
  try {
    for await (const part of parts) {
      if (part.type === 'end') {
        isOver = true
        yield* texts.rest()
      }
      const isLong = lengthOf(part) + texts.waitingFor(part) > LONG_PART
      const shown = isLong ? await slices.run(user, texts.shownSteps(part)) : await shownSoon(texts, part, turns)
      if (shown) yield shown
    }
  } catch (error) {
    if (!isOver) yield* texts.rest()
    throw error
  }
  if (!isOver) yield* texts.rest()
}

/** Short parts may be many in one turn of the event loop: once they have taken their time of it, the next ones wait. */
async function shownSoon(texts: Texts, part: AnswerPart, turns: OwnerTurns): Promise<AnswerPart | null> {
  if (lengthOf(part) > 0 && turns.areUsed) await turns.next()
  return finish(texts.shownSteps(part))
}

function lengthOf(part: AnswerPart): number {
  if (part.type === 'job' || part.type === 'end') return 0
  return part.type === 'tool_call' ? part.arguments.length : part.text.length
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

  /** How many characters wait for what a part says. */
  waitingFor(part: AnswerPart): number {
    return part.type === 'job' || part.type === 'end' ? 0 : (this.#tails.get(keyOf(part))?.tail.waiting ?? 0)
  }

  /** Null where all of a part waits. */
  *shownSteps(part: AnswerPart): Steps<AnswerPart | null> {
    if (part.type === 'job' || part.type === 'end') return part
    if (part.type === 'tool_call') return yield* this.#shownCall(part)
    const text = yield* this.#tail(part).pushSteps(part.text)
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

  *#shownCall(part: CallPart): Steps<CallPart> {
    const text = yield* this.#tail(part).pushSteps(part.arguments)
    const whole = this.#redactor.value({ id: part.id, name: part.name }, { credentials: false })
    const { id } = whole
    const name = whole.name === undefined ? undefined : this.#names.shown(whole.name)
    if (text === part.arguments && id === part.id && name === part.name) return part
    return { ...part, ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }), arguments: text }
  }

  #tail(part: TextPart | CallPart): PiecedText {
    const key = keyOf(part)
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

function keyOf(part: TextPart | CallPart): string {
  return part.type === 'tool_call' ? `call ${part.index}` : part.type
}
