// Reads a list of embeddings while it arrives: it may be a hundred megabytes of numbers. Each vector is parsed by
// itself, so that other owners get their turns. The envelope is parsed at the end.

import { findFailure } from '../../models/providers/openai/event-classification.ts'
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import { joinBytesSteps, type Steps } from '../../shared/time-slices.ts'
import { applyEdits, applyEditsAsPieces, type TextEdit } from '../json/text-ranges.ts'
import { diffAsEdits } from '../json/value-diff.ts'
import { isMissing, type JsonRecord, parseObject, withFields } from '../json/values.ts'
import { UpstreamErrorBody } from './error-body.ts'

/**
 * In bytes, of one vector and of the envelope: many times the longest real vector, and little enough to parse at once.
 */
const MAX_VECTOR_BYTES = 1_048_576

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const LIST = 0x5b

/** Matches lists of numbers: they contain no secrets. */
const NUMBERS = /\[[-+.\deE,\s]*\]/g

/** Redacts the secrets of the caller. */
export interface EmbeddingRedaction {
  /** Returns the same value if it contains no secret. */
  value<Value>(value: Value): Value
  /** Whether JSON text contains a secret, also in a duplicate member that parsing drops. */
  hasSecret(text: string): boolean
}

const NO_REDACTION: EmbeddingRedaction = { value: (value) => value, hasSecret: () => false }

/** A vector that was cut out of the envelope, which has a 0 in its place. */
interface CutVector {
  /** The position in the envelope. */
  readonly at: number
  /** The position in the whole text. */
  readonly start: number
  readonly length: number
  /** Edits that add missing fields, relative to the vector's start. */
  readonly edits: readonly TextEdit[]
}

export class EmbeddingListReader {
  readonly #count: number
  readonly #redaction: EmbeddingRedaction
  readonly #pieces: Uint8Array[] = []
  readonly #envelope: Uint8Array[] = []
  readonly #cuts: CutVector[] = []
  #envelope_length = 0
  #vector: Uint8Array[] | null = null
  #vector_length = 0
  /** How many bytes were cut out of the envelope so far. */
  #removed = 0
  #depth = 0
  #is_list = false
  #in_text = false
  #escaped = false
  /** The length of every vector. */
  #dimensions: number | null = null

  /** `count` is the expected number of vectors. */
  constructor(count: number, redaction: EmbeddingRedaction = NO_REDACTION) {
    this.#count = count
    this.#redaction = redaction
  }

  /** @throws MalformedDataError */
  take(bytes: Uint8Array): void {
    this.#pieces.push(bytes)
    let from = 0
    for (let at = 0; at < bytes.length; at++) {
      const code = bytes[at]!
      if (this.#in_text) this.#readText(code)
      else if (code === QUOTE) this.#in_text = true
      else if (code === OPEN || code === LIST) {
        if (this.#depth === 2 && this.#is_list && code === OPEN) {
          this.#keep(bytes.subarray(from, at))
          this.#vector = []
          from = at
        }
        if (this.#depth++ === 1) this.#is_list = code === LIST
      } else if ((code === 0x7d || code === 0x5d) && --this.#depth === 2 && this.#vector) {
        this.#keep(bytes.subarray(from, at + 1))
        this.#endVector()
        from = at + 1
      }
    }
    this.#keep(bytes.subarray(from))
  }

  /** Returns the envelope, after a check of the number of vectors. @throws MalformedDataError */
  end(): JsonRecord {
    if (this.#vector) throw new MalformedDataError('data that is not JSON')
    const given = parseObject(Buffer.concat(this.#envelope).toString())
    const failure = findFailure(given)
    if (failure) throw new UpstreamErrorBody(failure, given.usage)
    const { data, object } = given
    if (!(isMissing(object) || object === 'list') || !Array.isArray(data))
      throw new MalformedDataError('data that is not a list of vectors')
    if (data.length !== this.#count || this.#cuts.length !== this.#count || data.some((one) => one !== 0))
      throw new MalformedDataError('a wrong number of vectors')
    return given
  }

  /** Returns the whole text with completed vectors and with `wanted` as the envelope. */
  *bytes(given: JsonRecord, wanted: JsonRecord): Steps<Uint8Array> {
    const { length } = this.#pieces
    const whole = length === 1 ? this.#pieces[0]! : yield* concatSteps(this.#pieces)
    const text = Buffer.concat(this.#envelope)
    if (this.#redaction.hasSecret(text.toString())) return yield* concatSteps(this.#rewrite(whole, wanted))
    const around = given === wanted ? [] : diffAsEdits(text.toString('latin1'), given, wanted)
    const inside = this.#cuts.flatMap(({ start, edits }) => edits.map((edit) => moveEdit(edit, (at) => start + at)))
    const edits = [...around.map((edit) => moveEdit(edit, (at) => this.#toWholePosition(at))), ...inside]
    if (edits.length === 0) return whole
    edits.sort((a, b) => a.start - b.start)
    return yield* concatSteps(applyEditsAsPieces(whole, edits))
  }

  /** Encodes the envelope again: a duplicate member may contain a secret that the parsed value does not contain. */
  #rewrite(whole: Uint8Array, { data: _, ...around }: JsonRecord): Uint8Array[] {
    const pieces: Uint8Array[] = []
    for (const { start, length, edits } of this.#cuts)
      pieces.push(Buffer.from(pieces.length === 0 ? '' : ','), applyEdits(whole.subarray(start, start + length), edits))
    const head = JSON.stringify(around).slice(0, -1)
    return [Buffer.from(`${head}${head === '{' ? '' : ','}"data":[`), ...pieces, Buffer.from(']}')]
  }

  #readText(code: number): void {
    if (this.#escaped) this.#escaped = false
    else if (code === BACKSLASH) this.#escaped = true
    else if (code === QUOTE) this.#in_text = false
  }

  #keep(bytes: Uint8Array): void {
    if (!this.#vector) {
      this.#envelope.push(bytes)
      this.#envelope_length += bytes.length
      if (this.#envelope_length > MAX_VECTOR_BYTES) throw new MalformedDataError('too much data around its vectors')
      return
    }
    this.#vector.push(bytes)
    this.#vector_length += bytes.length
    if (this.#vector_length > MAX_VECTOR_BYTES) throw new MalformedDataError('a vector that is too long')
  }

  #endVector(): void {
    const bytes = Buffer.concat(this.#vector!)
    const given = parseObject(bytes.toString())
    // The object belongs to another list, such as the problems of an error.
    if (!('embedding' in given)) return this.#resumeEnvelope(bytes)
    const length = measureVector(given.embedding)
    if (!(isMissing(given.object) || given.object === 'embedding') || length === 0)
      throw new MalformedDataError('an invalid vector')
    if (length !== (this.#dimensions ?? length)) throw new MalformedDataError('vectors of several lengths')
    this.#dimensions = length
    this.#cutVector(bytes, given)
    if (this.#cuts.length > this.#count) throw new MalformedDataError('a wrong number of vectors')
    this.#resumeEnvelope(Buffer.from('0'))
  }

  /** Puts `bytes` into the envelope in place of the object. */
  #resumeEnvelope(bytes: Buffer): void {
    this.#vector = null
    this.#vector_length = 0
    this.#keep(bytes)
  }

  #cutVector(bytes: Buffer, given: JsonRecord): void {
    const at = this.#envelope_length
    const { length } = bytes
    const { embedding, ...beside } = given
    const safe = this.#redaction.value(beside)
    if (Object.keys(safe).some((name) => !(name in given))) throw new MalformedDataError('a vector with a secret')
    // Numbers contain no secrets.
    const vector = typeof embedding === 'string' ? this.#redaction.value(embedding) : embedding
    const shown = safe === beside && vector === embedding ? given : { ...safe, embedding: vector }
    const wanted = withFields(shown, { object: 'embedding', index: readIndex(given) ?? this.#cuts.length })
    const edits = this.#redaction.hasSecret(bytes.toString().replaceAll(NUMBERS, '[]'))
      ? [{ start: 0, end: length, text: JSON.stringify(wanted) }]
      : diffAsEdits(bytes.toString('latin1'), given, wanted)
    this.#cuts.push({ at, start: at + this.#removed, length, edits })
    this.#removed += length - 1
  }

  /** Converts a position of the envelope to a position of the whole text. */
  #toWholePosition(at: number): number {
    return this.#cuts.reduce((place, cut) => (cut.at < at ? place + cut.length - 1 : place), at)
  }
}

/** In steps: a hundred megabytes take long. */
function concatSteps(pieces: readonly Uint8Array[]): Steps<Uint8Array> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  return joinBytesSteps(pieces, Buffer.allocUnsafeSlow(length))
}

function moveEdit({ text, start, end }: TextEdit, place: (at: number) => number): TextEdit {
  return { text, start: place(start), end: place(end) }
}

/** Null if the vector has no valid index. */
function readIndex({ index }: JsonRecord): number | null {
  return Number.isSafeInteger(index) && (index as number) >= 0 ? (index as number) : null
}

/** The length of a list of numbers, or of a base64 text; 0 for other values. */
function measureVector(embedding: unknown): number {
  if (typeof embedding === 'string') return embedding.length
  return Array.isArray(embedding) && embedding.every((one) => typeof one === 'number') ? embedding.length : 0
}
