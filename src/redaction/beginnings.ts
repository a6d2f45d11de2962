// Finds where words of a set stand in a text. A quick look tells nearly every text that holds none of them; where the beginning of some stands,
// those are compared. Words come and go one by one, at a price that does not depend on how many there are.
import { Crowd } from './crowd.ts'
import { BEGINNING, Hashes, hashOf, LOOKS, type Parts, SHORTEST_WORD, summed } from './hashes.ts'
import { LongWords } from './long-words.ts'
import type { Word } from './word.ts'

const GRAM = 4
/** The stride at which a text is looked at: so far apart that no word of SHORTEST_WORD characters falls between two looks. */
const STRIDE = SHORTEST_WORD - GRAM + 1
/** The size of the table, as a power of two of bits: 8 KiB for some dozens of secrets, 4 MiB for many thousands. */
const FEW_BITS = 16
const MANY_BITS = 25
/** From so many entries on the small table would err too often. */
const MANY = 1024

/** So few words that begin alike are compared one by one. */
const FEW = 4
/** Most beginnings have only words with a longer one: these have no list of their own. */
const NO_WORDS: readonly Word[] = []

/** What is known of one beginning. */
interface Beginning {
  /** Words of which no longer beginning is kept. */
  words: readonly Word[] | Crowd
  /** The long ones of them; null: there has been none. */
  long: LongWords | null
  /** How many words have a longer beginning. */
  longer: number
  /** How many characters the longest of the words has, at most; null: nobody has asked since one came. */
  longest: number | null
}

export type Range = [from: number, to: number]

/** Words of at least 8 characters, by their beginnings. */
export class Beginnings {
  #bits = new Uint8Array(2 ** (FEW_BITS - 3))
  #shift = 32 - FEW_BITS
  /** What is entered, as long as it may have to move to the large table. What is removed stays: it costs a closer look now and then. */
  #grams: number[] | null = []
  /** By the hash of the characters, which says their number as well. Two that have the same hash are kept as one. */
  readonly #beginnings = new Map<number, Beginning>()

  /** `beginning`: the first characters of the word, for who has them at hand. */
  add(word: Word, beginning = word.form().slice(0, BEGINNING)): void {
    if (beginning.length < SHORTEST_WORD) throw new RangeError(`a word of less than ${SHORTEST_WORD} characters`)
    for (let at = 0; at < STRIDE; at++) this.#enter(gramAt(beginning, at))
    this.#along(beginning, (found, last) => {
      if (last) enter(found, word)
      else found.longer++
    })
  }

  /** Takes back one `add`. */
  remove(word: Word, beginning = word.form().slice(0, BEGINNING)): void {
    this.#along(beginning, (found, last, hash) => {
      if (last) leave(found, word)
      else found.longer--
      if (sizeOf(found) === 0 && found.longer === 0) this.#beginnings.delete(hash)
    })
  }

  /** Where words stand, in order; those that touch or overlap are one. */
  ranges(text: string): Range[] {
    const ranges: Range[] = []
    this.#look(text, (beginning, hashes, from) => {
      const length = longestAt(beginning, hashes, from)
      if (length > 0) join(ranges, [from, from + length])
      return false
    })
    return ranges
  }

  /** The length of the longest word that stands at a place; 0 for none. */
  longestAt(text: Parts, from: number): number {
    let longest = 0
    this.#lookAt(text, from, (beginning) => {
      longest = Math.max(longest, longestAt(beginning, text, from))
      return false
    })
    return longest
  }

  /** False where no word begins in the text. */
  mayHold(text: string): boolean {
    return this.#look(text, () => true)
  }

  /** The first place at which a word stands, or may go on behind the end of the text; the length of the text where there is none. */
  firstIn(text: string): number {
    let first = text.length
    this.#look(text, (beginning, hashes, from) => {
      const goesOn = from + longestOf(beginning) > text.length || beginning.long?.mayGoOn(hashes, from) === true
      const stands = goesOn || longestAt(beginning, hashes, from) > 0
      if (stands) first = from
      return stands
    })
    return first
  }

  /** False where no word begins with the four characters at a place. */
  mayBegin(text: string, at: number): boolean {
    const place = this.#place(gramAt(text, at))
    return (this.#bits[place >>> 3]! & (1 << (place & 7))) !== 0
  }

  /** Shows each beginning that stands in the text and is kept for some words, from left to right, until `found` says to stop. */
  #look(text: string, found: Found<Hashes>): boolean {
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

  #lookAt<Text extends Parts>(text: Text, from: number, found: Found<Text>): boolean {
    for (const length of LOOKS) {
      if (from + length > text.length) return false
      const beginning = this.#beginnings.get(text.short(from, length))
      if (beginning === undefined) return false
      if (sizeOf(beginning) > 0 && found(beginning, text, from)) return true
      if (beginning.longer === 0) return false
    }
    return false
  }

  /** Visits each beginning of a word, the shortest first; `last`: the one that its owner is kept at. */
  #along(word: string, visit: (beginning: Beginning, last: boolean, hash: number) => void): void {
    let sum = 0
    for (const [i, length] of LOOKS.entries()) {
      for (let at = i === 0 ? 0 : LOOKS[i - 1]!; at < length; at++) sum = summed(sum, word.charCodeAt(at))
      const hash = hashOf(sum, length)
      let beginning = this.#beginnings.get(hash)
      if (!beginning) {
        beginning = { words: NO_WORDS, long: null, longer: 0, longest: null }
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

type Found<Text> = (beginning: Beginning, text: Text, from: number) => boolean

function sizeOf({ words, long }: Beginning): number {
  return (long?.size ?? 0) + (words instanceof Crowd ? words.size : words.length)
}

function longestOf(beginning: Beginning): number {
  const { words } = beginning
  beginning.longest ??= words instanceof Crowd ? words.longest : Math.max(0, ...words.map(({ span }) => span.length))
  return beginning.longest
}

function enter(beginning: Beginning, word: Word): void {
  if (word.isLong) {
    beginning.long ??= new LongWords()
    beginning.long.add(word)
    return
  }
  const { words } = beginning
  beginning.longest = null
  if (words instanceof Crowd) words.add(word)
  else if (words.length === FEW) beginning.words = new Crowd(words.concat(word))
  else beginning.words = words.concat(word)
}

function leave(beginning: Beginning, word: Word): void {
  const { words, long } = beginning
  if (word.isLong) long?.remove(word)
  else if (words instanceof Crowd) words.remove(word)
  else beginning.words = words.toSpliced(words.indexOf(word), 1)
}

function longestAt({ words, long }: Beginning, text: Parts, from: number): number {
  let longest = long === null ? 0 : long.longestAt(text, from)
  if (words instanceof Crowd) return Math.max(longest, words.longestAt(text, from))
  for (const word of words) if (word.span.length > longest && word.standsAt(text, from)) longest = word.span.length
  return longest
}

/** Adds a range that begins no sooner than the last one. */
export function join(ranges: Range[], [from, to]: Range): void {
  const last = ranges.at(-1)
  if (last && last[1] >= from) last[1] = Math.max(last[1], to)
  else ranges.push([from, to])
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
