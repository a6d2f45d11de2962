// The events of a streamed answer without secrets, also without those that are cut over several of them. Events in which nothing is replaced pass as they
// came; what may begin a secret waits, with everything behind it, until the next piece of its text tells.
import { setMember } from '../members.ts'
import { PlainEscapes } from '../redaction/plain-escapes.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Pieces } from './answer-stream.ts'
import { AnswerText } from './answer-text.ts'
import { choiceWith, isJsonText, type TextPiece, textsOf, withoutTokens } from './choice-texts.ts'
import { eventOf } from './chunk-facts.ts'
import { isRecord, type Json } from './json-values.ts'
import { holdsSecret, mayHideSecret, textOf, withoutSecretsInValue } from './secret-texts.ts'
import { WordEvents } from './word-events.ts'

/** So many events wait for a text that does not go on. Then they go on without what waits of it. */
const MOST_OTHERS = 16
/** And so many in all. */
const MOST_HELD = 1_024
/** So many texts are told of one answer; more than its choices and calls of tools have. */
const MOST_TEXTS = 16_384
/** With empty lines that follow: they are nothing, and may be millions. */
const EVENT_END = /(?:\r\n){2,}|\n{2,}|\r{2,}/g
const LINE_END = /\r\n|\n|\r/
/** In the place of an event that is nothing but a secret. */
const COMMENT = ':\n\n'

interface HeldEvent {
  readonly event: string
  /** Its chunk; null where it has none. */
  readonly chunk: Json | null
  readonly pieces: readonly TextPiece[]
  /** Whether its bytes may tell a secret. */
  readonly isSuspect: boolean
}

export class SafeEvents implements Pieces {
  readonly #pieces: Pieces
  readonly #redactor: Redactor
  readonly #texts = new Map<string, AnswerText>()
  readonly #words = new WordEvents()
  #held: HeldEvent[] = []
  /** How many events came, while something waits, that say nothing more of it. */
  #others = 0
  /** What the chunks say of the answer. */
  #head: Json = {}
  #over = false

  constructor(pieces: Pieces, redactor: Redactor) {
    this.#pieces = pieces
    this.#redactor = redactor
  }

  async next(): Promise<string | Uint8Array | null> {
    while (!this.#over) {
      const piece = await this.#pieces.next()
      const shown = piece === null ? this.#end() : this.#take(piece)
      if (shown !== null) return shown
    }
    return null
  }

  close(): void {
    this.#over = true
    this.#pieces.close()
  }

  /** Null where all of it waits. */
  #take(piece: string | Uint8Array): string | Uint8Array | null {
    const text = typeof piece === 'string' ? piece : textOf(piece)
    if (this.#held.length === 0 && this.#words.take(text)) return piece
    // A piece may have many events, and the odd one among them.
    let shown = ''
    for (const event of eventsIn(text)) {
      if (this.#held.length === 0 && this.#words.take(event)) {
        shown += event
        continue
      }
      this.#hold(event)
      shown += this.#release()
    }
    return shown === '' ? null : shown
  }

  #hold(event: string): void {
    const data = dataIn(event)
    const isSuspect = mayHideSecret(event, this.#redactor)
    if (data.trim() === '[DONE]') this.#endTexts()
    const chunk = objectIn(data)
    const pieces = chunk ? textsOf(chunk) : []
    for (const piece of pieces) this.#push(piece)
    this.#held.push({ event, chunk, pieces, isSuspect })
    if (chunk && !isSuspect) this.#words.learn(event, pieces, (key) => this.#textOf(key))
    this.#others = pieces.some(isWaiting) ? 0 : this.#others + 1
    if (this.#others > MOST_OTHERS || this.#held.length > MOST_HELD) this.#letGo()
  }

  #push(piece: TextPiece): void {
    const text = this.#textOf(piece.key)
    if (text) text.push(piece)
    else {
      piece.shown = ''
      piece.isReplaced = true
    }
  }

  /** All events up to the first one that waits; empty where that is the first of all. */
  #release(): string {
    const waiting = this.#held.findIndex(({ pieces }) => pieces.some(isWaiting))
    const ready = this.#held.splice(0, waiting < 0 ? this.#held.length : waiting)
    if (this.#held.length === 0) this.#others = 0
    return ready.map((event) => this.#shown(event)).join('')
  }

  #shown({ event, chunk, pieces, isSuspect }: HeldEvent): string {
    const replaced = pieces.filter(({ isReplaced }) => isReplaced)
    if (replaced.length === 0 && !isSuspect) return event
    if (chunk === null) return this.#withoutSecrets(event)
    for (const { holder, name, shown } of replaced) setMember(holder, name, shown)
    const safe = withoutSecretsInValue(chunk, this.#redactor)
    // A comment may hold one, and a member that comes twice: nobody reads them, and anybody can.
    const isSame = replaced.length === 0 && safe === chunk && !holdsSecret(event, this.#redactor)
    return isSame ? event : this.#nameOf(event) + eventOf(withoutTokens(safe, chunk, replaced))
  }

  /** An event without an object. */
  #withoutSecrets(event: string): string {
    const safe = withoutSecretsInValue(event, this.#redactor)
    return holdsSecret(safe, this.#redactor) ? COMMENT : safe
  }

  /** The line with the name of an event that is written anew. */
  #nameOf(event: string): string {
    const name = event.split(LINE_END).find((line) => line.startsWith('event:'))
    return name === undefined || holdsSecret(name, this.#redactor) ? '' : `${name}\n`
  }

  /** The events that wait go on. What waits of their texts is shown with the next pieces. */
  #letGo(): void {
    for (const { chunk, pieces } of this.#held) {
      const waiting = pieces.filter(isWaiting)
      if (!chunk || waiting.length === 0) continue
      const { id, object, created, model } = chunk
      this.#head = { id, object, created, model }
      for (const { key } of waiting) this.#textOf(key)?.letGo()
    }
    this.#others = 0
  }

  #end(): string | null {
    this.#over = true
    this.#endTexts()
    return this.#release() || null
  }

  /** No text goes on. What waits behind its last piece is an event of its own. */
  #endTexts(): void {
    for (const [key, text] of this.#texts) {
      const rest = text.end()
      const choice = rest === '' ? null : choiceWith(key, rest)
      if (!choice) continue
      const chunk = withoutSecretsInValue({ ...this.#head, choices: [choice] }, this.#redactor)
      this.#held.push({ event: eventOf(chunk), chunk: null, pieces: [], isSuspect: false })
    }
  }

  /** Null where there are too many. */
  #textOf(key: string): AnswerText | null {
    const present = this.#texts.get(key)
    if (present) return present
    if (this.#texts.size === MOST_TEXTS) return null
    const text = new AnswerText(this.#redactor.secretTail(), isJsonText(key) ? new PlainEscapes() : null)
    this.#texts.set(key, text)
    return text
  }
}

function isWaiting({ shown }: TextPiece): boolean {
  return shown === null
}

/** Each with its end. */
function eventsIn(text: string): string[] {
  const events: string[] = []
  let from = 0
  for (const { 0: end, index } of text.matchAll(EVENT_END)) {
    events.push(text.slice(from, index + end.length))
    from = index + end.length
  }
  return from < text.length ? [...events, text.slice(from)] : events
}

function dataIn(event: string): string {
  if (!event.includes('data')) return ''
  const lines = event.replace(/^\ufeff/, '').split(LINE_END)
  const data = lines.filter((line) => line.startsWith('data:'))
  return data.map((line) => line.slice('data:'.length)).join('\n')
}

/** Null where the data is none. */
function objectIn(data: string): Json | null {
  if (!data.includes('{')) return null
  try {
    const value: unknown = JSON.parse(data)
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}
