// Redacts the parts of an answer: a server may repeat its API key, and a model may repeat a secret of the user.

import type { Redactor } from '../../redaction/redactor.ts'
import {
  createArgumentsRedactor,
  type StreamedTextRedactor,
  ToolNameRedactor,
} from '../../redaction/streams/tool-call-texts.ts'
import { type OwnerTimeSlices, runToCompletion, type Steps, type TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { AnswerPart } from '../answers/generator.ts'

type TextPart = Extract<AnswerPart, { type: 'text' | 'thinking' | 'refusal' }>
type CallPart = Extract<AnswerPart, { type: 'tool_call' }>

/**
 * A longer part, together with the text held before it, is redacted in time slices. With very many similar secrets,
 * each character takes microseconds.
 */
const LONG_PART_LENGTH = 1_024

/** What the redaction uses. */
export interface PartRedaction {
  readonly redactor: Redactor
  readonly slices: Pick<TimeSliceScheduler, 'run' | 'turnsOf'>
  /** The owner whose time slices are used. */
  readonly user: string
}

/**
 * Yields the same parts, unchanged if nothing is replaced. Text that may begin a secret is held until the next part of
 * the same text.
 */
export async function* redactAnswerParts(
  parts: AsyncGenerator<AnswerPart, void, void>,
  { redactor, slices, user }: PartRedaction,
): AsyncGenerator<AnswerPart, void, void> {
  const texts = new AnswerTexts(redactor)
  const runInSlices = (steps: Steps<string>) => slices.run(user, steps)
  const turns = slices.turnsOf(user)
  let isOver = false
  try {
    for await (const part of parts) {
      if (part.type === 'end') {
        isOver = true
        yield* texts.endTexts(runInSlices)
      }
      const isLong = measurePart(part) + texts.countWaiting(part) > LONG_PART_LENGTH
      const shown = isLong ? await slices.run(user, texts.redactSteps(part)) : await redactShortPart(texts, part, turns)
      if (shown) yield shown
    }
  } catch (error) {
    if (!isOver) yield* texts.endTexts(runInSlices)
    throw error
  }
  if (!isOver) yield* texts.endTexts(runInSlices)
}

/** One turn of the event loop may have many short parts: when the owner's slice is used up, the next part waits. */
async function redactShortPart(
  texts: AnswerTexts,
  part: AnswerPart,
  turns: OwnerTimeSlices,
): Promise<AnswerPart | null> {
  if (measurePart(part) > 0 && turns.areUsed) await turns.next()
  return runToCompletion(texts.redactSteps(part))
}

function measurePart(part: AnswerPart): number {
  if (part.type === 'job' || part.type === 'end') return 0
  return part.type === 'tool_call' ? part.arguments.length : part.text.length
}

/** The texts of one answer: one of each kind, and one for the arguments of each tool call. */
class AnswerTexts {
  readonly #redactor: Redactor
  readonly #replacers = new Map<string, { readonly tail: StreamedTextRedactor; last: TextPart | CallPart }>()
  readonly #names: ToolNameRedactor

  constructor(redactor: Redactor) {
    this.#redactor = redactor
    this.#names = new ToolNameRedactor(redactor.createEagerReplacer())
  }

  /** The number of held characters of the text to which a part belongs. */
  countWaiting(part: AnswerPart): number {
    return part.type === 'job' || part.type === 'end'
      ? 0
      : (this.#replacers.get(createTextKey(part))?.tail.waiting ?? 0)
  }

  /** Null if all text of a part is held. */
  *redactSteps(part: AnswerPart): Steps<AnswerPart | null> {
    if (part.type === 'job' || part.type === 'end') return part
    if (part.type === 'tool_call') return yield* this.#redactCallSteps(part)
    const text = yield* this.#getReplacer(part).pushSteps(part.text)
    if (text === part.text) return part
    return text === '' ? null : { ...part, text }
  }

  /** Ends all texts. Held text is ended in time slices. */
  async *endTexts(runInSlices: (steps: Steps<string>) => Promise<string>): AsyncGenerator<AnswerPart, void, void> {
    for (const { tail, last } of this.#replacers.values()) {
      const text = tail.waiting > 0 ? await runInSlices(tail.endSteps()) : tail.end()
      if (text === '') continue
      if (last.type === 'tool_call') yield { type: 'tool_call', index: last.index, arguments: text }
      else yield { ...last, text }
    }
    this.#replacers.clear()
  }

  *#redactCallSteps(part: CallPart): Steps<CallPart> {
    const text = yield* this.#getReplacer(part).pushSteps(part.arguments)
    const whole = this.#redactor.value({ id: part.id, name: part.name }, { credentials: false })
    const { id } = whole
    const name = whole.name === undefined ? undefined : this.#names.redact(whole.name)
    if (text === part.arguments && id === part.id && name === part.name) return part
    return { ...part, ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }), arguments: text }
  }

  #getReplacer(part: TextPart | CallPart): StreamedTextRedactor {
    const key = createTextKey(part)
    const present = this.#replacers.get(key)
    if (present) {
      present.last = part
      return present.tail
    }
    const found = this.#redactor.createEagerReplacer()
    const tail = part.type === 'tool_call' ? createArgumentsRedactor(found, part.custom === true) : found
    this.#replacers.set(key, { tail, last: part })
    return tail
  }
}

function createTextKey(part: TextPart | CallPart): string {
  return part.type === 'tool_call' ? `call ${part.index}` : part.type
}
