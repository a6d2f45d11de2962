// The events of a streamed answer without secrets, also without those that are cut over several of them. Events in which nothing is replaced pass as they
// came; what may begin a secret waits, with everything behind it, until the next piece of its text tells.
import { jsonTextSteps } from '../json-steps.ts'
import { setMember } from '../members.ts'
import { isLong } from '../models/json-text.ts'
import { PlainEscapes } from '../redaction/plain-escapes.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { Steps, TimeSlices } from '../time-slices.ts'
import type { Pieces } from './answer-stream.ts'
import { AnswerText } from './answer-text.ts'
import { choiceWith, isJsonText, type TextPiece, textsSteps, withoutTokens } from './choice-texts.ts'
import { eventOf } from './chunk-facts.ts'
import { type Json, objectInSteps } from './json-values.ts'
import { LineEnds } from './line-ends.ts'
import { holdsSecret, mayHideSecret, textOf, VALUES, withoutSecretsInValue } from './secret-texts.ts'
import { WordEvents } from './word-events.ts'

/** So many events wait for a text that does not go on. Then they go on without what waits of it. */
const MOST_OTHERS = 16
/** And so many in all, of so many characters. */
const MOST_HELD = 1_024
const MOST_HELD_LENGTH = 16_777_216
/** As many characters count for each text in them, which may be empty. */
const TEXT_LENGTH = 16
/** So many texts are told of one answer; more than its choices and calls of tools have. */
const MOST_TEXTS = 16_384
/** With empty lines that follow: they are nothing, and may be millions. */
const EVENT_END = /(?:\r\n){2,}|\n{2,}|\r{2,}/g
/** Of an event, that are looked at in one step. */
const MANY_LINES = 1_024
const NAME_LINE = /(?:^|[\r\n])(event:[^\r\n]*)/
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

export interface Safety {
  readonly redactor: Redactor
  /** In whose turns long events are looked at. */
  readonly owner: string
  readonly slices: Pick<TimeSlices, 'begin'>
}

export class SafeEvents implements Pieces {
  readonly #pieces: Pieces
  readonly #safety: Safety
  readonly #texts = new Map<string, AnswerText>()
  readonly #words = new WordEvents()
  #held: HeldEvent[] = []
  #held_length = 0
  /** How many events came, while something waits, that say nothing more of it. */
  #others = 0
  /** What the chunks say of the answer. */
  #head: Json = {}
  #over = false

  constructor(pieces: Pieces, safety: Safety) {
    this.#pieces = pieces
    this.#safety = safety
  }

  get #redactor(): Redactor {
    return this.#safety.redactor
  }

  async next(): Promise<string | Uint8Array | null> {
    while (!this.#over) {
      const piece = await this.#pieces.next()
      const shown = piece === null ? await this.#inTurns(this.#end()) : await this.#shownOf(piece)
      if (shown !== '') return shown
    }
    return null
  }

  close(): void {
    this.#over = true
    this.#pieces.close()
  }

  #inTurns<Shown>(steps: Steps<Shown>): Promise<Shown> {
    const { owner, slices } = this.#safety
    return slices.begin(owner, steps)
  }

  /** Empty where all of it waits. */
  #shownOf(piece: string | Uint8Array): string | Uint8Array | Promise<string> {
    const text = typeof piece === 'string' ? piece : textOf(piece)
    return this.#areWords(text) ? piece : this.#inTurns(this.#take(text))
  }

  #areWords(text: string): boolean {
    return this.#held.length === 0 && !isLong(text) && this.#words.take(text)
  }

  /** A piece may have many events, and the odd one among them. */
  *#take(text: string): Steps<string> {
    let shown = ''
    for (const event of eventsIn(text)) {
      if (this.#areWords(event)) {
        shown += event
        continue
      }
      yield* this.#hold(event)
      shown += yield* this.#release()
      yield
    }
    return shown
  }

  *#hold(event: string): Steps<void> {
    const data = yield* dataIn(event)
    // Of a long event each look takes long enough.
    if (isLong(event)) yield
    const isSuspect = mayHideSecret(event, this.#redactor)
    if (isLong(event)) yield
    if (data.trim() === '[DONE]') this.#endTexts()
    const chunk = yield* objectIn(data)
    const pieces = chunk ? yield* textsSteps(chunk) : []
    for (const piece of pieces) {
      yield* this.#push(piece)
      if (isLong(event)) yield
    }
    this.#held.push({ event, chunk, pieces, isSuspect })
    this.#held_length += lengthOf(event, pieces)
    if (chunk && !isSuspect && !isLong(event)) this.#words.learn(event, pieces, (key) => this.#textOf(key))
    this.#others = pieces.some(isWaiting) ? 0 : this.#others + 1
    if (this.#others > MOST_OTHERS || this.#held.length > MOST_HELD || this.#held_length > MOST_HELD_LENGTH)
      this.#letGo()
  }

  *#push(piece: TextPiece): Steps<void> {
    const text = this.#textOf(piece.key)
    if (text) yield* text.push(piece)
    else {
      piece.shown = ''
      piece.isReplaced = true
    }
  }

  /** All events up to the first one that waits; empty where that is the first of all. */
  *#release(): Steps<string> {
    const waiting = this.#held.findIndex(({ pieces }) => pieces.some(isWaiting))
    const ready = this.#held.splice(0, waiting < 0 ? this.#held.length : waiting)
    if (this.#held.length === 0) this.#others = 0
    let released = ''
    for (const held of ready) {
      this.#held_length -= lengthOf(held.event, held.pieces)
      released += yield* this.#shown(held)
    }
    return released
  }

  *#shown({ event, chunk, pieces, isSuspect }: HeldEvent): Steps<string> {
    const replaced = pieces.filter(({ isReplaced }) => isReplaced)
    if (replaced.length === 0 && !isSuspect) return event
    if (chunk === null) return this.#withoutSecrets(event)
    for (const { holder, name, shown } of replaced) setMember(holder, name, shown)
    const safe = yield* this.#redactor.valueSteps(chunk, VALUES)
    // A comment may hold one, and a member that comes twice: nobody reads them, and anybody can.
    const isSame = replaced.length === 0 && safe === chunk && !isLong(event) && !holdsSecret(event, this.#redactor)
    if (isSame) return event
    return `${this.#nameOf(event)}data: ${yield* jsonTextSteps(withoutTokens(safe, chunk, replaced))}\n\n`
  }

  /** An event without an object. */
  #withoutSecrets(event: string): string {
    if (isLong(event)) return COMMENT
    const safe = withoutSecretsInValue(event, this.#redactor)
    return holdsSecret(safe, this.#redactor) ? COMMENT : safe
  }

  /** The line with the name of an event that is written anew. */
  #nameOf(event: string): string {
    const name = NAME_LINE.exec(event)?.[1]
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

  *#end(): Steps<string | null> {
    this.#over = true
    this.#endTexts()
    return (yield* this.#release()) || null
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

function lengthOf(event: string, pieces: readonly TextPiece[]): number {
  return event.length + TEXT_LENGTH * pieces.length
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

function* dataIn(event: string): Steps<string> {
  if (!event.includes('data')) return ''
  const text = event.replace(/^\ufeff/, '')
  const ends = new LineEnds(text)
  const data: string[] = []
  for (let at = 0, lines = 1; at < text.length; lines++) {
    const end = ends.from(at)
    const to = end < 0 ? text.length : end
    if (text.startsWith('data:', at)) data.push(text.slice(at + 'data:'.length, to))
    at = to + 1
    if (lines % MANY_LINES === 0) yield
  }
  return data.join('\n')
}

/** Null where the data is none. */
function* objectIn(data: string): Steps<Json | null> {
  if (!data.includes('{')) return null
  try {
    return yield* objectInSteps(data)
  } catch {
    return null
  }
}
