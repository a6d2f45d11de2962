// A quick look at a text: which of many words may it hold? It leaves out none that is there, and names one that is not there seldom. Words come
// and go one by one, at a price that does not depend on how many there are. Of a word it keeps its owner and nothing of its text.
import { Hashes, hashOf, LOOKS, SHORTEST_WORD, summed } from './hashes.ts'

const GRAM = 4
/** The stride at which a text is looked at: so far apart that no word of SHORTEST_WORD characters falls between two looks. */
const STRIDE = SHORTEST_WORD - GRAM + 1
/** The size of the table, as a power of two of bits: 8 KiB for some dozens of secrets, 4 MiB for many thousands. */
const FEW_BITS = 16
const MANY_BITS = 25
/** From so many entries on the small table would err too often. */
const MANY = 1024

/** What is known of one beginning. */
interface Beginning<Owner> {
  /** Owners of words of which no longer beginning is kept. */
  readonly owners: Owner[]
  /** How many words have a longer beginning. */
  longer: number
}

/** Words of at least 8 characters, by their beginnings; each belongs to somebody. */
export class Beginnings<Owner> {
  #bits = new Uint8Array(2 ** (FEW_BITS - 3))
  #shift = 32 - FEW_BITS
  /** What is entered, as long as it may have to move to the large table. What is removed stays: it costs a closer look now and then. */
  #grams: number[] | null = []
  /** By the hash of the characters, which says their number as well. Two that have the same hash are kept as one. */
  readonly #beginnings = new Map<number, Beginning<Owner>>()

  add(word: string, owner: Owner): void {
    if (word.length < SHORTEST_WORD) throw new RangeError(`a word of less than ${SHORTEST_WORD} characters`)
    for (let at = 0; at < STRIDE; at++) this.#enter(gramAt(word, at))
    this.#along(word, (beginning, last) => {
      if (last) beginning.owners.push(owner)
      else beginning.longer++
    })
  }

  /** Takes back one `add`. */
  remove(word: string, owner: Owner): void {
    this.#along(word, (beginning, last, hash) => {
      const { owners } = beginning
      if (last) owners.splice(owners.indexOf(owner), 1)
      else beginning.longer--
      if (owners.length === 0 && beginning.longer === 0) this.#beginnings.delete(hash)
    })
  }

  /** Owners of words that the text may hold, each once. */
  in(text: string): Owner[] {
    const found = new Set<Owner>()
    const seen = new Set<Beginning<Owner>>()
    this.#look(text, (beginning) => {
      if (seen.has(beginning)) return false
      seen.add(beginning)
      for (const owner of beginning.owners) found.add(owner)
      return false
    })
    return [...found]
  }

  mayHold(text: string): boolean {
    return this.#look(text, () => true)
  }

  /** Shows each beginning that stands in the text and is kept for somebody, until `found` says to stop. */
  #look(text: string, found: (beginning: Beginning<Owner>) => boolean): boolean {
    const bits = this.#bits
    const hashes = new Hashes(text)
    for (let at = 0, last = text.length - GRAM; at <= last; at += STRIDE) {
      const place = this.#place(gramAt(text, at))
      if ((bits[place >>> 3]! & (1 << (place & 7))) === 0) continue
      for (let from = Math.max(0, at - STRIDE + 1); from <= at; from++)
        if (this.#lookAt(hashes, from, found)) return true
    }
    return false
  }

  #lookAt(text: Hashes, from: number, found: (beginning: Beginning<Owner>) => boolean): boolean {
    for (const length of LOOKS) {
      if (from + length > text.length) return false
      const beginning = this.#beginnings.get(text.hash(from, length))
      if (beginning === undefined) return false
      if (beginning.owners.length > 0 && found(beginning)) return true
      if (beginning.longer === 0) return false
    }
    return false
  }

  /** Visits each beginning of a word, the shortest first; `last`: the one that its owner is kept at. */
  #along(word: string, visit: (beginning: Beginning<Owner>, last: boolean, hash: number) => void): void {
    let sum = 0
    for (const [i, length] of LOOKS.entries()) {
      for (let at = i === 0 ? 0 : LOOKS[i - 1]!; at < length; at++) sum = summed(sum, word.charCodeAt(at))
      const hash = hashOf(sum, length)
      let beginning = this.#beginnings.get(hash)
      if (!beginning) {
        beginning = { owners: [], longer: 0 }
        this.#beginnings.set(hash, beginning)
      }
      const last = word.length < (LOOKS[i + 1] ?? Number.POSITIVE_INFINITY)
      visit(beginning, last, hash)
      if (last) return
    }
  }

  #enter(gram: number): void {
    this.#mark(this.#place(gram))
    this.#grams?.push(gram)
    if (this.#grams && this.#grams.length >= MANY) this.#widen(this.#grams)
  }

  #widen(grams: readonly number[]): void {
    this.#grams = null
    this.#bits = new Uint8Array(2 ** (MANY_BITS - 3))
    this.#shift = 32 - MANY_BITS
    for (const gram of grams) this.#mark(this.#place(gram))
  }

  #mark(place: number): void {
    this.#bits[place >>> 3]! |= 1 << (place & 7)
  }

  /** Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4). */
  #place(gram: number): number {
    return Math.imul(gram, 0x9e3779b1) >>> this.#shift
  }
}

/** Four characters as a number. */
function gramAt(text: string, at: number): number {
  return (
    text.charCodeAt(at) ^
    (text.charCodeAt(at + 1) << 8) ^
    (text.charCodeAt(at + 2) << 16) ^
    (text.charCodeAt(at + 3) << 24)
  )
}
