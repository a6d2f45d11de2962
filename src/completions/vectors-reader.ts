// Reads a list of vectors as it comes, which may be a hundred megabytes of numbers: each vector is looked at by itself, so that others have their
// turns in between, and what stands around them when all of it is there.
import { Malformed } from '../models/checked.ts'
import { failureIn } from '../models/openai-events.ts'
import { joinSteps, type Steps } from '../time-slices.ts'
import { changesOf } from './changes.ts'
import { isMissing, type Json, objectIn, withFields } from './json-values.ts'
import { type Edit, edited, editedPieces } from './members.ts'
import { ToldFailure } from './told-failure.ts'

/** Of one vector, in bytes: many times the longest that any model makes, and no more than is read in a moment. The same for what stands around all. */
const LONGEST_VECTOR = 1_048_576

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN = 0x7b
const LIST = 0x5b

/** A list of numbers: they tell nothing. */
const NUMBERS = /\[[-+.\deE,\s]*\]/g

/** What must not be shown. */
export interface Safety {
  /** A value without it; the same one where it holds none of it. */
  value<Value>(value: Value): Value
  /** Whether JSON text holds any of it, also where its value does not. */
  isIn(text: string): boolean
}

const ANYTHING: Safety = { value: (value) => value, isIn: () => false }

/** A vector that was taken out of the text around it, where a 0 stands for it. */
interface Cut {
  /** In the text around. */
  readonly at: number
  /** In the whole. */
  readonly start: number
  readonly length: number
  /** What fills in what it lacks, from its own start. */
  readonly edits: readonly Edit[]
}

export class VectorsReader {
  readonly #count: number
  readonly #safety: Safety
  readonly #pieces: Uint8Array[] = []
  readonly #around: Uint8Array[] = []
  readonly #cuts: Cut[] = []
  #around_length = 0
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
  constructor(count: number, safety: Safety = ANYTHING) {
    this.#count = count
    this.#safety = safety
  }

  /** @throws Malformed */
  take(bytes: Uint8Array): void {
    this.#pieces.push(bytes)
    let from = 0
    for (let at = 0; at < bytes.length; at++) {
      const code = bytes[at]!
      if (this.#in_text) this.#inText(code)
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
  end(): Json {
    if (this.#vector) throw new Malformed('what is no JSON')
    const given = objectIn(Buffer.concat(this.#around).toString())
    const failure = failureIn(given)
    if (failure) throw new ToldFailure(failure, given.usage)
    const { data, object } = given
    if (!(isMissing(object) || object === 'list') || !Array.isArray(data))
      throw new Malformed('what is no list of vectors')
    if (data.length !== this.#count || this.#cuts.length !== this.#count || data.some((one) => one !== 0))
      throw new Malformed('another number of vectors')
    return given
  }

  /** All that was taken, with what its vectors lack, and with `wanted` in the place of what stands around them. */
  *bytes(given: Json, wanted: Json): Steps<Uint8Array> {
    const { length } = this.#pieces
    const whole = length === 1 ? this.#pieces[0]! : yield* joined(this.#pieces)
    const text = Buffer.concat(this.#around)
    if (this.#safety.isIn(text.toString())) return yield* joined(this.#written(whole, wanted))
    const around = given === wanted ? [] : changesOf(text.toString('latin1'), given, wanted)
    const inside = this.#cuts.flatMap(({ start, edits }) => edits.map((edit) => moved(edit, (at) => start + at)))
    const edits = [...around.map((edit) => moved(edit, (at) => this.#placeOf(at))), ...inside]
    if (edits.length === 0) return whole
    edits.sort((a, b) => a.start - b.start)
    return yield* joined(editedPieces(whole, edits))
  }

  /** With what stands around the vectors written anew: a member that comes twice may hold what its last value does not. */
  #written(whole: Uint8Array, { data: _, ...around }: Json): Uint8Array[] {
    const pieces: Uint8Array[] = []
    for (const { start, length, edits } of this.#cuts)
      pieces.push(Buffer.from(pieces.length === 0 ? '' : ','), edited(whole.subarray(start, start + length), edits))
    const head = JSON.stringify(around).slice(0, -1)
    return [Buffer.from(`${head}${head === '{' ? '' : ','}"data":[`), ...pieces, Buffer.from(']}')]
  }

  #inText(code: number): void {
    if (this.#escaped) this.#escaped = false
    else if (code === BACKSLASH) this.#escaped = true
    else if (code === QUOTE) this.#in_text = false
  }

  #keep(bytes: Uint8Array): void {
    if (!this.#vector) {
      this.#around.push(bytes)
      this.#around_length += bytes.length
      if (this.#around_length > LONGEST_VECTOR) throw new Malformed('too much around its vectors')
      return
    }
    this.#vector.push(bytes)
    this.#vector_length += bytes.length
    if (this.#vector_length > LONGEST_VECTOR) throw new Malformed('a vector that is too long')
  }

  #endVector(): void {
    const bytes = Buffer.concat(this.#vector!)
    const given = objectIn(bytes.toString())
    // It is one of another list, as of the problems in a failure, or none.
    if (!('embedding' in given)) return this.#leave(bytes)
    const length = lengthOf(given.embedding)
    if (!(isMissing(given.object) || given.object === 'embedding') || length === 0)
      throw new Malformed('a vector that is none')
    if (length !== (this.#dimensions ?? length)) throw new Malformed('vectors of several lengths')
    this.#dimensions = length
    this.#cut(bytes, given)
    if (this.#cuts.length > this.#count) throw new Malformed('another number of vectors')
    this.#leave(Buffer.from('0'))
  }

  /** In the place of what was looked at. */
  #leave(bytes: Buffer): void {
    this.#vector = null
    this.#vector_length = 0
    this.#keep(bytes)
  }

  #cut(bytes: Buffer, given: Json): void {
    const at = this.#around_length
    const { length } = bytes
    const { embedding, ...beside } = given
    const safe = this.#safety.value(beside)
    if (Object.keys(safe).some((name) => !(name in given))) throw new Malformed('a vector with a secret')
    // Numbers tell nothing.
    const vector = typeof embedding === 'string' ? this.#safety.value(embedding) : embedding
    const shown = safe === beside && vector === embedding ? given : { ...safe, embedding: vector }
    const wanted = withFields(shown, { object: 'embedding', index: indexOf(given) ?? this.#cuts.length })
    const edits = this.#safety.isIn(bytes.toString().replaceAll(NUMBERS, '[]'))
      ? [{ start: 0, end: length, text: JSON.stringify(wanted) }]
      : changesOf(bytes.toString('latin1'), given, wanted)
    this.#cuts.push({ at, start: at + this.#removed, length, edits })
    this.#removed += length - 1
  }

  /** In the whole, of a place in the text around. */
  #placeOf(at: number): number {
    return this.#cuts.reduce((place, cut) => (cut.at < at ? place + cut.length - 1 : place), at)
  }
}

/** A hundred megabytes: others have their turns between the pieces. */
function joined(pieces: readonly Uint8Array[]): Steps<Uint8Array> {
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0)
  return joinSteps(pieces, Buffer.allocUnsafeSlow(length))
}

function moved({ text, start, end }: Edit, place: (at: number) => number): Edit {
  return { text, start: place(start), end: place(end) }
}

/** Null where it has none. */
function indexOf({ index }: Json): number | null {
  return Number.isSafeInteger(index) && (index as number) >= 0 ? (index as number) : null
}

/** Of numbers, or of their bytes in base64; 0 for anything else. */
function lengthOf(embedding: unknown): number {
  if (typeof embedding === 'string') return embedding.length
  return Array.isArray(embedding) && embedding.every((one) => typeof one === 'number') ? embedding.length : 0
}
