// The events of a streamed answer without secrets, also without those that are cut over several of them. Events in which nothing is replaced pass as they
// came; what may begin a secret waits, with everything behind it, until the next piece of its text tells.

import { isLongJson } from '../../models/providers/shared/json-parsing.ts'
import { JsonUnescaper } from '../../redaction/json-unescaper.ts'
import type { Redactor } from '../../redaction/redactor.ts'
import { stringifySteps } from '../../shared/incremental-json.ts'
import { setOwnProperty } from '../../shared/own-property.ts'
import type { Steps, TimeSliceScheduler } from '../../shared/time-slices.ts'
import type { AnswerStreamSource } from '../answers/stream.ts'
import { type JsonRecord, parseObjectSteps } from '../json/values.ts'
import { encodeEvent } from '../upstream/chunk-scan.ts'
import { LineEndFinder } from '../upstream/line-ends.ts'
import { collectTextsSteps, createTextChoice, isJsonText, removeLogprobs, type TextPiece } from './choice-texts.ts'
import { decodeUtf8, holdsSecret, MODEL_TEXT_OPTIONS, mayHideSecret, redactModelValue } from './completion-json.ts'
import { EventFastPath } from './event-fast-path.ts'
import { StreamedChoiceText } from './streamed-choice-text.ts'

/** So many events wait for a text that does not go on. Then they go on without what waits of it. */
const MAX_UNRELATED_EVENTS = 16
/** And so many in all, of so many characters. */
const MAX_HELD_EVENTS = 1_024
const MAX_HELD_LENGTH = 16_777_216
/** As many characters count for each text in them, which may be empty. */
const CHARACTERS_PER_TEXT = 16
/** So many texts are told of one answer; more than its choices and calls of tools have. */
const MAX_TEXTS = 16_384
/** With empty lines that follow: they are nothing, and may be millions. */
const EVENT_END = /(?:\r\n){2,}|\n{2,}|\r{2,}/g
/** Of an event, that are looked at in one step. */
const LINES_PER_STEP = 1_024
const NAME_LINE = /(?:^|[\r\n])(event:[^\r\n]*)/
/** In the place of an event that is nothing but a secret. */
const COMMENT = ':\n\n'

interface HeldEvent {
  readonly event: string
  /** Its chunk; null where it has none. */
  readonly chunk: JsonRecord | null
  readonly pieces: readonly TextPiece[]
  /** Whether its bytes may tell a secret. */
  readonly isSuspect: boolean
}

export interface EventRedaction {
  readonly redactor: Redactor
  /** In whose turns long events are looked at. */
  readonly owner: string
  readonly slices: Pick<TimeSliceScheduler, 'begin'>
}

export class RedactedEvents implements AnswerStreamSource {
  readonly #source: AnswerStreamSource
  readonly #redaction: EventRedaction
  readonly #texts = new Map<string, StreamedChoiceText>()
  readonly #fast_path = new EventFastPath()
  #held: HeldEvent[] = []
  #held_length = 0
  /** How many events came, while something waits, that say nothing more of it. */
  #unrelated_events = 0
  /** What the chunks say of the answer. */
  #head: JsonRecord = {}
  #over = false

  constructor(pieces: AnswerStreamSource, safety: EventRedaction) {
    this.#source = pieces
    this.#redaction = safety
  }

  get #redactor(): Redactor {
    return this.#redaction.redactor
  }

  async next(): Promise<string | Uint8Array | null> {
    while (!this.#over) {
      const piece = await this.#source.next()
      const shown = piece === null ? await this.#runInSlices(this.#end()) : await this.#redactPiece(piece)
      if (shown !== '') return shown
    }
    return null
  }

  close(): void {
    this.#over = true
    this.#source.close()
  }

  #runInSlices<Shown>(steps: Steps<Shown>): Promise<Shown> {
    const { owner, slices } = this.#redaction
    return slices.begin(owner, steps)
  }

  /** Empty where all of it waits. */
  #redactPiece(piece: string | Uint8Array): string | Uint8Array | Promise<string> {
    const text = typeof piece === 'string' ? piece : decodeUtf8(piece)
    return this.#tryFastPath(text) ? piece : this.#runInSlices(this.#take(text))
  }

  #tryFastPath(text: string): boolean {
    return this.#held.length === 0 && !isLongJson(text) && this.#fast_path.tryTake(text)
  }

  /** A piece may have many events, and the odd one among them. */
  *#take(text: string): Steps<string> {
    let shown = ''
    for (const event of splitEvents(text)) {
      if (this.#tryFastPath(event)) {
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
    const data = yield* parseDataSteps(event)
    // Of a long event each look takes long enough.
    if (isLongJson(event)) yield
    const isSuspect = mayHideSecret(event, this.#redactor)
    if (isLongJson(event)) yield
    if (data.trim() === '[DONE]') this.#endTexts()
    const chunk = yield* parseChunkSteps(data)
    const pieces = chunk ? yield* collectTextsSteps(chunk) : []
    for (const piece of pieces) {
      yield* this.#push(piece)
      if (isLongJson(event)) yield
    }
    this.#held.push({ event, chunk, pieces, isSuspect })
    this.#held_length += measureHeld(event, pieces)
    if (chunk && !isSuspect && !isLongJson(event)) this.#fast_path.learn(event, pieces, (key) => this.#getText(key))
    this.#unrelated_events = pieces.some(isWaiting) ? 0 : this.#unrelated_events + 1
    if (
      this.#unrelated_events > MAX_UNRELATED_EVENTS ||
      this.#held.length > MAX_HELD_EVENTS ||
      this.#held_length > MAX_HELD_LENGTH
    )
      this.#releaseWaiting()
  }

  *#push(piece: TextPiece): Steps<void> {
    const text = this.#getText(piece.key)
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
    if (this.#held.length === 0) this.#unrelated_events = 0
    let released = ''
    for (const held of ready) {
      this.#held_length -= measureHeld(held.event, held.pieces)
      released += yield* this.#redactEvent(held)
    }
    return released
  }

  *#redactEvent({ event, chunk, pieces, isSuspect }: HeldEvent): Steps<string> {
    const replaced = pieces.filter(({ isReplaced }) => isReplaced)
    if (replaced.length === 0 && !isSuspect) return event
    if (chunk === null) return this.#redactText(event)
    for (const { holder, name, shown } of replaced) setOwnProperty(holder, name, shown)
    const safe = yield* this.#redactor.valueSteps(chunk, MODEL_TEXT_OPTIONS)
    // A comment may hold one, and a member that comes twice: nobody reads them, and anybody can.
    const isSame = replaced.length === 0 && safe === chunk && !isLongJson(event) && !holdsSecret(event, this.#redactor)
    if (isSame) return event
    return `${this.#encodeName(event)}data: ${yield* stringifySteps(removeLogprobs(safe, chunk, replaced))}\n\n`
  }

  /** An event without an object. */
  #redactText(event: string): string {
    if (isLongJson(event)) return COMMENT
    const safe = redactModelValue(event, this.#redactor)
    return holdsSecret(safe, this.#redactor) ? COMMENT : safe
  }

  /** The line with the name of an event that is written anew. */
  #encodeName(event: string): string {
    const name = NAME_LINE.exec(event)?.[1]
    return name === undefined || holdsSecret(name, this.#redactor) ? '' : `${name}\n`
  }

  /** The events that wait go on. What waits of their texts is shown with the next pieces. */
  #releaseWaiting(): void {
    for (const { chunk, pieces } of this.#held) {
      const waiting = pieces.filter(isWaiting)
      if (!chunk || waiting.length === 0) continue
      const { id, object, created, model } = chunk
      this.#head = { id, object, created, model }
      for (const { key } of waiting) this.#getText(key)?.release()
    }
    this.#unrelated_events = 0
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
      const choice = rest === '' ? null : createTextChoice(key, rest)
      if (!choice) continue
      const chunk = redactModelValue({ ...this.#head, choices: [choice] }, this.#redactor)
      this.#held.push({ event: encodeEvent(chunk), chunk: null, pieces: [], isSuspect: false })
    }
  }

  /** Null where there are too many. */
  #getText(key: string): StreamedChoiceText | null {
    const present = this.#texts.get(key)
    if (present) return present
    if (this.#texts.size === MAX_TEXTS) return null
    const text = new StreamedChoiceText(
      this.#redactor.createEagerReplacer(),
      isJsonText(key) ? new JsonUnescaper() : null,
    )
    this.#texts.set(key, text)
    return text
  }
}

function measureHeld(event: string, pieces: readonly TextPiece[]): number {
  return event.length + CHARACTERS_PER_TEXT * pieces.length
}

function isWaiting({ shown }: TextPiece): boolean {
  return shown === null
}

/** Each with its end. */
function splitEvents(text: string): string[] {
  const events: string[] = []
  let from = 0
  for (const { 0: end, index } of text.matchAll(EVENT_END)) {
    events.push(text.slice(from, index + end.length))
    from = index + end.length
  }
  return from < text.length ? [...events, text.slice(from)] : events
}

function* parseDataSteps(event: string): Steps<string> {
  if (!event.includes('data')) return ''
  const text = event.replace(/^\ufeff/, '')
  const ends = new LineEndFinder(text)
  const data: string[] = []
  for (let at = 0, lines = 1; at < text.length; lines++) {
    const end = ends.from(at)
    const to = end < 0 ? text.length : end
    if (text.startsWith('data:', at)) data.push(text.slice(at + 'data:'.length, to))
    at = to + 1
    if (lines % LINES_PER_STEP === 0) yield
  }
  return data.join('\n')
}

/** Null where the data is none. */
function* parseChunkSteps(data: string): Steps<JsonRecord | null> {
  if (!data.includes('{')) return null
  try {
    return yield* parseObjectSteps(data)
  } catch {
    return null
  }
}
