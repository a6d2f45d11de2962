// The parts of an answer without the credential that its provider was called with: servers may repeat it, and whoever gets an answer may cut it, write it
// in other ways and hand it on. It is replaced here, before anybody has it.
import { argumentsText, CallNames, type PiecedText } from '../redaction/call-texts.ts'
import { Redactor } from '../redaction/redactor.ts'
import type { CompletionPart, ToolCallPart } from './provider.ts'

/** A part of an answer but its end. */
export type AnswerPart = Exclude<CompletionPart, { type: 'end' }>

export class SafeParts {
  /** Null: there is nothing to replace. */
  readonly #redactor: Redactor | null
  /** For each text of the answer. */
  readonly #tails = new Map<string, { readonly tail: PiecedText; last: AnswerPart }>()
  readonly #names: CallNames | null

  constructor(credential: string | null) {
    this.#redactor = credential === null ? null : new Redactor([credential])
    this.#names = this.#redactor && new CallNames(this.#redactor.secretTail())
  }

  /** The part as it may be told now: itself where nothing is replaced, null where all of it waits for what follows. */
  take(part: AnswerPart): AnswerPart | null {
    if (this.#redactor === null) return part
    if (part.type === 'tool_call') return this.#call(part)
    const text = this.#tail(this.#redactor, part.type, part).push(part.text)
    if (text === part.text) return part
    return text === '' ? null : { type: part.type, text }
  }

  /** What still waits: nothing follows. */
  *rest(): Generator<AnswerPart, void, void> {
    for (const { tail, last } of this.#tails.values()) {
      const text = tail.end()
      if (text === '') continue
      yield last.type === 'tool_call'
        ? { type: 'tool_call', index: last.index, arguments: text }
        : { type: last.type, text }
    }
    this.#tails.clear()
  }

  #call(part: ToolCallPart): ToolCallPart {
    const text = this.#tail(this.#redactor!, `call ${part.index}`, part).push(part.arguments)
    const id = this.#whole(part.id)
    const name = part.name === undefined ? undefined : this.#names!.shown(part.name)
    if (text === part.arguments && id === part.id && name === part.name) return part
    return { ...part, ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }), arguments: text }
  }

  #whole(text: string | undefined): string | undefined {
    if (text === undefined) return undefined
    const tail = this.#redactor!.secretTail()
    return tail.push(text) + tail.end()
  }

  #tail(redactor: Redactor, key: string, part: AnswerPart): PiecedText {
    const present = this.#tails.get(key)
    if (present) {
      present.last = part
      return present.tail
    }
    const found = redactor.secretTail()
    const tail = part.type === 'tool_call' ? argumentsText(found, part.custom === true) : found
    this.#tails.set(key, { tail, last: part })
    return tail
  }
}
