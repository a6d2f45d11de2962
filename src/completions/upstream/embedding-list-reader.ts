// Reads a list of vectors as it comes, which may be a hundred megabytes of numbers: each vector is looked at by itself, so that others have their
// turns in between, and what stands around them when all of it is there.

import { findFailure } from '../../models/providers/openai/event-classification.ts'
import { MalformedDataError } from '../../models/providers/shared/provider-data-validation.ts'
import { joinBytesSteps, type Steps } from '../../shared/time-slices.ts'
import { applyEdits, applyEditsAsPieces, type TextEdit } from '../json/text-ranges.ts'
import { diffAsEdits } from '../json/value-diff.ts'
import { isMissing, type JsonRecord, parseObject, withFields } from '../json/values.ts'
import { UpstreamErrorBody } from './error-body.ts'

/** Of one vector, in bytes: many times the longest that any model makes, and no more than is read in a moment. The same for what stands around all. */
const MAX_VECTOR_BYTES = 1_048_576

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const LIST = 0x5b

/** A list of numbers: they tell nothing. */
const NUMBERS = /\[[-+.\deE,\s]*\]/g

/** What must not be shown. */
export interface EmbeddingRedaction {
  /** A value without it; the same one where it holds none of it. */
  value<Value>(value: Value): Value
  /** Whether JSON text holds any of it, also where its value does not. */
  hasSecret(text: string): boolean
}

const NO_REDACTION: EmbeddingRedaction = { value: (value) => value, hasSecret: () => false }

/** A vector that was taken out of the text around it, where a 0 stands for it. */
interface CutVector {
  /** In the text around. */
  readonly at: number
  /** In the whole. */
  readonly start: number
  readonly length: number
  /** What fills in what it lacks, from its own start. */
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
  /** How much longer the whole so far is than the text around. */
  #removed = 0
  #depth = 0
  #is_list = false
  #in_text = false
  #escaped = false
  /** Of all vectors. */
  #dimensions: number | null = null

  /** `count`: how many vectors there shall be. */
  constructor(count: number, safety: EmbeddingRedaction = NO_REDACTION) {
    this.#count = count
    this.#redaction = safety
  }

  /** @throws Malformed */
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

  /** What stands around the vectors, of which there are as many as there shall be. @throws Malformed */
  end(): JsonRecord {
    if (this.#vector) throw new MalformedDataError('what is no JSON')
    const given = parseObject(Buffer.concat(this.#envelope).toString())
    const failure = findFailure(given)
    if (failure) throw new UpstreamErrorBody(failure, given.usage)
    const { data, object } = given
    if (!(isMissing(object) || object === 'list') || !Array.isArray(data))
      throw new MalformedDataError('what is no list of vectors')
    if (data.length !== this.#count || this.#cuts.length !== this.#count || data.some((one) => one !== 0))
      throw new MalformedDataError('another number of vectors')
    return given
  }

  /** All that was taken, with what its vectors lack, and with `wanted` in the place of what stands around them. */
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

  /** With what stands around the vectors written anew: a member that comes twice may hold what its last value does not. */
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
      if (this.#envelope_length > MAX_VECTOR_BYTES) throw new MalformedDataError('too much around its vectors')
      return
    }
    this.#vector.push(bytes)
    this.#vector_length += bytes.length
    if (this.#vector_length > MAX_VECTOR_BYTES) throw new MalformedDataError('a vector that is too long')
  }

  #endVector(): void {
    const bytes = Buffer.concat(this.#vector!)
    const given = parseObject(bytes.toString())
    // It is one of another list, as of the problems in a failure, or none.
    if (!('embedding' in given)) return this.#resumeEnvelope(bytes)
    const length = measureVector(given.embedding)
    if (!(isMissing(given.object) || given.object === 'embedding') || length === 0)
      throw new MalformedDataError('a vector that is none')
    if (length !== (this.#dimensions ?? length)) throw new MalformedDataError('vectors of several lengths')
    this.#dimensions = length
    this.#cutVector(bytes, given)
    if (this.#cuts.length > this.#count) throw new MalformedDataError('another number of vectors')
    this.#resumeEnvelope(Buffer.from('0'))
  }

  /** In the place of what was looked at. */
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
    // Numbers tell nothing.
    const vector = typeof embedding === 'string' ? this.#redaction.value(embedding) : embedding
    const shown = safe === beside && vector === embedding ? given : { ...safe, embedding: vector }
    const wanted = withFields(shown, { object: 'embedding', index: readIndex(given) ?? this.#cuts.length })
    const edits = this.#redaction.hasSecret(bytes.toString().replaceAll(NUMBERS, '[]'))
      ? [{ start: 0, end: length, text: JSON.stringify(wanted) }]
      : diffAsEdits(bytes.toString('latin1'), given, wanted)
    this.#cuts.push({ at, start: at + this.#removed, length, edits })
    this.#removed += length - 1
  }

  /** In the whole, of a place in the text around. */
  #toWholePosition(at: number): number {
    return this.#cuts.reduce((place, cut) => (cut.at < at ? place + cut.length - 1 : place), at)
  }
}

/** A hundred megabytes: others have their turns between the pieces. */
function concatSteps(pieces: readonly Uint8Array[]): Steps<Uint8Array> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  return joinBytesSteps(pieces, Buffer.allocUnsafeSlow(length))
}

function moveEdit({ text, start, end }: TextEdit, place: (at: number) => number): TextEdit {
  return { text, start: place(start), end: place(end) }
}

/** Null where it has none. */
function readIndex({ index }: JsonRecord): number | null {
  return Number.isSafeInteger(index) && (index as number) >= 0 ? (index as number) : null
}

/** Of numbers, or of their bytes in base64; 0 for anything else. */
function measureVector(embedding: unknown): number {
  if (typeof embedding === 'string') return embedding.length
  return Array.isArray(embedding) && embedding.every((one) => typeof one === 'number') ? embedding.length : 0
}
