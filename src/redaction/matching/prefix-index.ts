// Finds where words of a set stand in a text. A quick look tells nearly every text that holds none of them; where the beginning of some stands,
// those are compared. Words come and go one by one, at a price that does not depend on how many there are.

import { LongFormIndex } from './long-form-index.ts'
import { PrefixBucket } from './prefix-bucket.ts'
import {
  extendSum,
  type HashedText,
  hashSum,
  LONGEST_PREFIX,
  MIN_FORM_LENGTH,
  PREFIX_LENGTHS,
  TextHashes,
} from './rolling-hashes.ts'
import type { SecretForm } from './secret-form.ts'

const GRAM_LENGTH = 4
/** The stride at which a text is looked at: so far apart that no word of SHORTEST_WORD characters falls between two looks. */
const STRIDE = MIN_FORM_LENGTH - GRAM_LENGTH + 1
/** The size of the table, as a power of two of bits: 8 KiB for some dozens of secrets, 4 MiB for many thousands. */
const FEW_BITS = 16
const MANY_BITS = 25
/** From so many entries on the small table would err too often. */
const MANY = 1024

/** So few words that begin alike are compared one by one. */
const MAX_LISTED = 4
/** Most beginnings have only words with a longer one: these have no list of their own. */
const NO_FORMS: readonly SecretForm[] = []

/** What is known of one beginning. */
interface PrefixEntry {
  /** Words of which no longer beginning is kept. */
  words: readonly SecretForm[] | PrefixBucket
  /** The long ones of them; null: there has been none. */
  long: LongFormIndex | null
  /** How many words have a longer beginning. */
  longer: number
  /** How many characters the longest of the words has, at most; null: nobody has asked since one came. */
  longest: number | null
}

export type TextRange = [from: number, to: number]

/** Words of at least 8 characters, by their beginnings. */
export class PrefixIndex {
  #bits = new Uint8Array(2 ** (FEW_BITS - 3))
  #shift = 32 - FEW_BITS
  /** What is entered, as long as it may have to move to the large table. What is removed stays: it costs a closer look now and then. */
  #grams: number[] | null = []
  /** By the hash of the characters, which says their number as well. Two that have the same hash are kept as one. */
  readonly #entries = new Map<number, PrefixEntry>()

  /** `beginning`: the first characters of the word, for who has them at hand. */
  add(word: SecretForm, beginning = word.encode().slice(0, LONGEST_PREFIX)): void {
    if (beginning.length < MIN_FORM_LENGTH) throw new RangeError(`a word of less than ${MIN_FORM_LENGTH} characters`)
    for (let at = 0; at < STRIDE; at++) this.#enterGram(readGram(beginning, at))
    this.#visitPrefixes(beginning, (found, last) => {
      if (last) addToEntry(found, word)
      else found.longer++
    })
  }

  /** Takes back one `add`. */
  remove(word: SecretForm, beginning = word.encode().slice(0, LONGEST_PREFIX)): void {
    this.#visitPrefixes(beginning, (found, last, hash) => {
      if (last) removeFromEntry(found, word)
      else found.longer--
      if (countForms(found) === 0 && found.longer === 0) this.#entries.delete(hash)
    })
  }

  /** Where words stand, in order; those that touch or overlap are one. */
  findRanges(text: string): TextRange[] {
    const ranges: TextRange[] = []
    this.#scan(text, (beginning, hashes, from) => {
      const length = longestOfEntryAt(beginning, hashes, from)
      if (length > 0) mergeRange(ranges, [from, from + length])
      return false
    })
    return ranges
  }

  /** The length of the longest word that stands at a place; 0 for none. */
  longestAt(text: HashedText, from: number): number {
    let longest = 0
    this.#scanAt(text, from, (beginning) => {
      longest = Math.max(longest, longestOfEntryAt(beginning, text, from))
      return false
    })
    return longest
  }

  /** False where no word begins in the text. */
  mayHold(text: string): boolean {
    return this.#scan(text, () => true)
  }

  /** The first place at which a word stands, or may go on behind the end of the text; the length of the text where there is none. */
  findFirst(text: string): number {
    let first = text.length
    this.#scan(text, (beginning, hashes, from) => {
      const goesOn =
        from + longestOfEntry(beginning) > text.length || beginning.long?.mayContinue(hashes, from) === true
      const stands = goesOn || longestOfEntryAt(beginning, hashes, from) > 0
      if (stands) first = from
      return stands
    })
    return first
  }

  /** False where no word begins with the four characters at a place. */
  mayBegin(text: string, at: number): boolean {
    const place = this.#findBit(readGram(text, at))
    return (this.#bits[place >>> 3]! & (1 << (place & 7))) !== 0
  }

  /** Shows each beginning that stands in the text and is kept for some words, from left to right, until `found` says to stop. */
  #scan(text: string, found: PrefixVisitor<TextHashes>): boolean {
    const bits = this.#bits
    const hashes = new TextHashes(text)
    for (let at = 0, last = text.length - GRAM_LENGTH; at <= last; at += STRIDE) {
      const place = this.#findBit(readGram(text, at))
      if ((bits[place >>> 3]! & (1 << (place & 7))) === 0) continue
      for (let from = Math.max(0, at - STRIDE + 1); from <= at; from++)
        if (this.#scanAt(hashes, from, found)) return true
    }
    return false
  }

  #scanAt<Text extends HashedText>(text: Text, from: number, found: PrefixVisitor<Text>): boolean {
    for (const length of PREFIX_LENGTHS) {
      if (from + length > text.length) return false
      const beginning = this.#entries.get(text.shortHash(from, length))
      if (beginning === undefined) return false
      if (countForms(beginning) > 0 && found(beginning, text, from)) return true
      if (beginning.longer === 0) return false
    }
    return false
  }

  /** Visits each beginning of a word, the shortest first; `last`: the one that its owner is kept at. */
  #visitPrefixes(word: string, visit: (beginning: PrefixEntry, last: boolean, hash: number) => void): void {
    let sum = 0
    for (const [i, length] of PREFIX_LENGTHS.entries()) {
      for (let at = i === 0 ? 0 : PREFIX_LENGTHS[i - 1]!; at < length; at++) sum = extendSum(sum, word.charCodeAt(at))
      const hash = hashSum(sum, length)
      let beginning = this.#entries.get(hash)
      if (!beginning) {
        beginning = { words: NO_FORMS, long: null, longer: 0, longest: null }
        this.#entries.set(hash, beginning)
      }
      const last = word.length < (PREFIX_LENGTHS[i + 1] ?? Number.POSITIVE_INFINITY)
      visit(beginning, last, hash)
      if (last) return
    }
  }

  #enterGram(gram: number): void {
    this.#markBit(this.#findBit(gram))
    this.#grams?.push(gram)
    if (this.#grams && this.#grams.length >= MANY) this.#widen(this.#grams)
  }

  #widen(grams: readonly number[]): void {
    this.#grams = null
    this.#bits = new Uint8Array(2 ** (MANY_BITS - 3))
    this.#shift = 32 - MANY_BITS
    for (const gram of grams) this.#markBit(this.#findBit(gram))
  }

  #markBit(place: number): void {
    this.#bits[place >>> 3]! |= 1 << (place & 7)
  }

  /** Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4). */
  #findBit(gram: number): number {
    return Math.imul(gram, 0x9e3779b1) >>> this.#shift
  }
}

type PrefixVisitor<Text> = (beginning: PrefixEntry, text: Text, from: number) => boolean

function countForms({ words, long }: PrefixEntry): number {
  return (long?.size ?? 0) + (words instanceof PrefixBucket ? words.size : words.length)
}

function longestOfEntry(beginning: PrefixEntry): number {
  const { words } = beginning
  beginning.longest ??=
    words instanceof PrefixBucket ? words.longest : Math.max(0, ...words.map(({ span }) => span.length))
  return beginning.longest
}

function addToEntry(beginning: PrefixEntry, word: SecretForm): void {
  if (word.isLong) {
    beginning.long ??= new LongFormIndex()
    beginning.long.add(word)
    return
  }
  const { words } = beginning
  beginning.longest = null
  if (words instanceof PrefixBucket) words.add(word)
  else if (words.length === MAX_LISTED) beginning.words = new PrefixBucket(words.concat(word))
  else beginning.words = words.concat(word)
}

function removeFromEntry(beginning: PrefixEntry, word: SecretForm): void {
  const { words, long } = beginning
  if (word.isLong) long?.remove(word)
  else if (words instanceof PrefixBucket) words.remove(word)
  else beginning.words = words.toSpliced(words.indexOf(word), 1)
}

function longestOfEntryAt({ words, long }: PrefixEntry, text: HashedText, from: number): number {
  let longest = long === null ? 0 : long.longestAt(text, from)
  if (words instanceof PrefixBucket) return Math.max(longest, words.longestAt(text, from))
  for (const word of words) if (word.span.length > longest && word.standsAt(text, from)) longest = word.span.length
  return longest
}

/** Adds a range that begins no sooner than the last one. */
export function mergeRange(ranges: TextRange[], [from, to]: TextRange): void {
  const last = ranges.at(-1)
  if (last && last[1] >= from) last[1] = Math.max(last[1], to)
  else ranges.push([from, to])
}

/** Four characters as a number. */
function readGram(text: string, at: number): number {
  return (
    text.charCodeAt(at) ^
    (text.charCodeAt(at + 1) << 8) ^
    (text.charCodeAt(at + 2) << 16) ^
    (text.charCodeAt(at + 3) << 24)
  )
}
