// Replaces the provider's credential in the parts of an answer: servers may repeat it. This must happen before the caller gets the answer, since
// the caller may cut it, encode it in other ways and hand it on.

import { Redactor } from '../../redaction/redactor.ts'
import {
  createArgumentsRedactor,
  type StreamedTextRedactor,
  ToolNameRedactor,
} from '../../redaction/streams/tool-call-texts.ts'
import type { CompletionPart, ToolCallPart } from '../provider.ts'

/** A part of an answer, except its end. */
export type AnswerContentPart = Exclude<CompletionPart, { type: 'end' }>

export class AnswerPartRedactor {
  /** Null: there is no credential. */
  readonly #redactor: Redactor | null
  /** One entry for each text of the answer. */
  readonly #texts = new Map<string, { readonly tail: StreamedTextRedactor; last: AnswerContentPart }>()
  readonly #toolNames: ToolNameRedactor | null

  constructor(credential: string | null) {
    this.#redactor = credential === null ? null : new Redactor([credential])
    this.#toolNames = this.#redactor && new ToolNameRedactor(this.#redactor.createEagerReplacer())
  }

  /** The part as it may be sent now: the same object where nothing is replaced, null where the whole part waits for the next one. */
  redact(part: AnswerContentPart): AnswerContentPart | null {
    if (this.#redactor === null) return part
    if (part.type === 'tool_call') return this.#redactToolCall(part)
    const text = this.#textRedactorFor(this.#redactor, part.type, part).push(part.text)
    if (text === part.text) return part
    return text === '' ? null : { type: part.type, text }
  }

  /** Gives the waiting rest, after the last part. */
  *flush(): Generator<AnswerContentPart, void, void> {
    for (const { tail, last } of this.#texts.values()) {
      const text = tail.end()
      if (text === '') continue
      yield last.type === 'tool_call'
        ? { type: 'tool_call', index: last.index, arguments: text }
        : { type: last.type, text }
    }
    this.#texts.clear()
  }

  #redactToolCall(part: ToolCallPart): ToolCallPart {
    const text = this.#textRedactorFor(this.#redactor!, `call ${part.index}`, part).push(part.arguments)
    const id = this.#redactWhole(part.id)
    const name = part.name === undefined ? undefined : this.#toolNames!.redact(part.name)
    if (text === part.arguments && id === part.id && name === part.name) return part
    return { ...part, ...(id === undefined ? {} : { id }), ...(name === undefined ? {} : { name }), arguments: text }
  }

  #redactWhole(text: string | undefined): string | undefined {
    if (text === undefined) return undefined
    const tail = this.#redactor!.createEagerReplacer()
    return tail.push(text) + tail.end()
  }

  #textRedactorFor(redactor: Redactor, key: string, part: AnswerContentPart): StreamedTextRedactor {
    const present = this.#texts.get(key)
    if (present) {
      present.last = part
      return present.tail
    }
    const found = redactor.createEagerReplacer()
    const tail = part.type === 'tool_call' ? createArgumentsRedactor(found, part.custom === true) : found
    this.#texts.set(key, { tail, last: part })
    return tail
  }
}
