// Redacts the events of a streamed answer, also secrets that are split across events. Events in which nothing is
// replaced pass unchanged. Text that may begin a secret is held, with all later events, until the next piece decides.

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

/**
 * The limit of held events that do not continue a held text. After that, the events are released without the held text.
 */
const MAX_UNRELATED_EVENTS = 16
/** The limits of all held events, and of their characters. */
const MAX_HELD_EVENTS = 1_024
const MAX_HELD_LENGTH = 16_777_216
/** Each text, even an empty text, counts as this many characters. */
const CHARACTERS_PER_TEXT = 16
/** The limit of texts in one answer; more than its choices and tool calls can have. */
const MAX_TEXTS = 16_384
/** Includes the empty lines that follow: they mean nothing, and there may be millions. */
const EVENT_END = /(?:\r\n){2,}|\n{2,}|\r{2,}/g
/** Lines of one event that are parsed in one step. */
const LINES_PER_STEP = 1_024
const NAME_LINE = /(?:^|[\r\n])(event:[^\r\n]*)/
/** Replaces an event that cannot be redacted. */
const COMMENT = ':\n\n'

interface HeldEvent {
  readonly event: string
  /** The parsed chunk; null if the event has no JSON object. */
  readonly chunk: JsonRecord | null
  readonly pieces: readonly TextPiece[]
  /** Whether the bytes of the event may contain a secret. */
  readonly isSuspect: boolean
}

export interface EventRedaction {
  readonly redactor: Redactor
  /** The owner whose time slices are used for long events. */
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
  /** How many events came since a text is held that do not continue a held text. */
  #unrelated_events = 0
  /** The fields that the chunks of the answer repeat. */
  #head: JsonRecord = {}
  #over = false

  constructor(pieces: AnswerStreamSource, redaction: EventRedaction) {
    this.#source = pieces
    this.#redaction = redaction
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

  /** Returns an empty text if the whole piece is held. */
  #redactPiece(piece: string | Uint8Array): string | Uint8Array | Promise<string> {
    const text = typeof piece === 'string' ? piece : decodeUtf8(piece)
    return this.#tryFastPath(text) ? piece : this.#runInSlices(this.#take(text))
  }

  #tryFastPath(text: string): boolean {
    return this.#held.length === 0 && !isLongJson(text) && this.#fast_path.tryTake(text)
  }

  /** A piece may have many events, and only some take the fast path. */
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
    // Each check of a long event takes a whole step.
    if (isLongJson(event)) yield
    const isSuspect = mayHideSecret(event, this.#redactor)
    if (isLongJson(event)) yield
    if (data.trim() === '[DONE]') yield* this.#endTexts()
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

  /** Releases all events before the first held text; returns an empty text if the first event is held. */
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
    // A comment or a duplicate member may contain a secret: clients ignore both, but users can read them.
    const isSame = replaced.length === 0 && safe === chunk && !isLongJson(event) && !holdsSecret(event, this.#redactor)
    if (isSame) return event
    return `${this.#encodeName(event)}data: ${yield* stringifySteps(removeLogprobs(safe, chunk, replaced))}\n\n`
  }

  /** Redacts an event without a JSON object. */
  #redactText(event: string): string {
    if (isLongJson(event)) return COMMENT
    const safe = redactModelValue(event, this.#redactor)
    return holdsSecret(safe, this.#redactor) ? COMMENT : safe
  }

  /** The name line of an event that is encoded again. */
  #encodeName(event: string): string {
    const name = NAME_LINE.exec(event)?.[1]
    return name === undefined || holdsSecret(name, this.#redactor) ? '' : `${name}\n`
  }

  /** Releases the held events. The held text is shown with the next pieces. */
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
    yield* this.#endTexts()
    return (yield* this.#release()) || null
  }

  /** Ends all texts. Held text after the last piece becomes an event of its own. */
  *#endTexts(): Steps<void> {
    for (const [key, text] of this.#texts) {
      const rest = yield* text.endSteps()
      yield
      const choice = rest === '' ? null : createTextChoice(key, rest)
      if (!choice) continue
      const chunk = redactModelValue({ ...this.#head, choices: [choice] }, this.#redactor)
      this.#held.push({ event: encodeEvent(chunk), chunk: null, pieces: [], isSuspect: false })
    }
  }

  /** Null if there are too many texts. */
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

/** Each event includes the empty lines that end it. */
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

/** Null if the data is not a JSON object. */
function* parseChunkSteps(data: string): Steps<JsonRecord | null> {
  if (!data.includes('{')) return null
  try {
    return yield* parseObjectSteps(data)
  } catch {
    return null
  }
}
