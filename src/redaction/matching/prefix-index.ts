// Finds forms in a text. A quick check excludes nearly every text without them; after a prefix match, the forms are
// compared. Adding or removing a form costs the same for any number of forms.

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
/** The stride of the quick check: no form of MIN_FORM_LENGTH characters fits between two checked grams. */
const STRIDE = MIN_FORM_LENGTH - GRAM_LENGTH + 1
/** The size of the table, as a power of two of bits: 8 KiB for some dozens of secrets, 4 MiB for many thousands. */
const FEW_BITS = 16
const MANY_BITS = 25
/** From this many entries on, the small table would have too many false positives. */
const MANY = 1024

/** Up to this many forms with the same prefix are compared one by one. */
const MAX_LISTED = 4
/** Shared by the many prefixes that only longer prefixes continue. */
const NO_FORMS: readonly SecretForm[] = []

/** The forms of one prefix. */
interface PrefixEntry {
  /** Forms without a longer stored prefix. */
  words: readonly SecretForm[] | PrefixBucket
  /** The long forms; null if there were none so far. */
  long: LongFormIndex | null
  /** How many forms have a longer stored prefix. */
  longer: number
  /** The maximum length of the forms; null if it must be computed again. */
  longest: number | null
}

export type TextRange = [from: number, to: number]

/** Forms of at least 8 characters, by their prefixes. */
export class PrefixIndex {
  #bits = new Uint8Array(2 ** (FEW_BITS - 3))
  #shift = 32 - FEW_BITS
  /**
   * The entered grams, kept while they may have to move to the large table. Removed forms stay in the table, which
   * costs an extra comparison at times.
   */
  #grams: number[] | null = []
  /** By the hash of the prefix, which includes its length. Prefixes with equal hashes share an entry. */
  readonly #entries = new Map<number, PrefixEntry>()

  /** `prefix` has the first characters of the form, if the caller has them. */
  add(form: SecretForm, prefix = form.encode().slice(0, LONGEST_PREFIX)): void {
    if (prefix.length < MIN_FORM_LENGTH) throw new RangeError(`a form of less than ${MIN_FORM_LENGTH} characters`)
    for (let at = 0; at < STRIDE; at++) this.#enterGram(readGram(prefix, at))
    this.#visitPrefixes(prefix, (found, last) => {
      if (last) addToEntry(found, form)
      else found.longer++
    })
  }

  /** Undoes one `add`. */
  remove(form: SecretForm, prefix = form.encode().slice(0, LONGEST_PREFIX)): void {
    this.#visitPrefixes(prefix, (found, last, hash) => {
      if (last) removeFromEntry(found, form)
      else found.longer--
      if (countForms(found) === 0 && found.longer === 0) this.#entries.delete(hash)
    })
  }

  /** The ranges of forms, in order; ranges that touch or overlap are merged. */
  findRanges(text: string): TextRange[] {
    const ranges: TextRange[] = []
    this.#scan(text, (entry, hashes, from) => {
      const length = longestOfEntryAt(entry, hashes, from)
      if (length > 0) mergeRange(ranges, [from, from + length])
      return false
    })
    return ranges
  }

  /** The length of the longest form at a position; 0 for none. */
  longestAt(text: HashedText, from: number): number {
    let longest = 0
    this.#scanAt(text, from, (entry) => {
      longest = Math.max(longest, longestOfEntryAt(entry, text, from))
      return false
    })
    return longest
  }

  /** False if no form begins in the text. */
  mayHold(text: string): boolean {
    return this.#scan(text, () => true)
  }

  /**
   * The first position of a form that is complete or may continue after the end; the length of the text if there is
   * none.
   */
  findFirst(text: string): number {
    let first = text.length
    this.#scan(text, (entry, hashes, from) => {
      const goesOn = from + longestOfEntry(entry) > text.length || entry.long?.mayContinue(hashes, from) === true
      const stands = goesOn || longestOfEntryAt(entry, hashes, from) > 0
      if (stands) first = from
      return stands
    })
    return first
  }

  /** False if no form begins with the four characters at this position. */
  mayBegin(text: string, at: number): boolean {
    const bit = this.#findBit(readGram(text, at))
    return (this.#bits[bit >>> 3]! & (1 << (bit & 7))) !== 0
  }

  /** Passes each stored prefix in the text to `found`, from left to right, until `found` returns true. */
  #scan(text: string, found: PrefixVisitor<TextHashes>): boolean {
    const bits = this.#bits
    const hashes = new TextHashes(text)
    for (let at = 0, last = text.length - GRAM_LENGTH; at <= last; at += STRIDE) {
      const bit = this.#findBit(readGram(text, at))
      if ((bits[bit >>> 3]! & (1 << (bit & 7))) === 0) continue
      for (let from = Math.max(0, at - STRIDE + 1); from <= at; from++)
        if (this.#scanAt(hashes, from, found)) return true
    }
    return false
  }

  #scanAt<Text extends HashedText>(text: Text, from: number, found: PrefixVisitor<Text>): boolean {
    for (const length of PREFIX_LENGTHS) {
      if (from + length > text.length) return false
      const entry = this.#entries.get(text.shortHash(from, length))
      if (entry === undefined) return false
      if (countForms(entry) > 0 && found(entry, text, from)) return true
      if (entry.longer === 0) return false
    }
    return false
  }

  /** Visits each prefix of a form, the shortest first. `last` is true for the prefix that stores the form. */
  #visitPrefixes(prefix: string, visit: (entry: PrefixEntry, last: boolean, hash: number) => void): void {
    let sum = 0
    for (const [i, length] of PREFIX_LENGTHS.entries()) {
      for (let at = i === 0 ? 0 : PREFIX_LENGTHS[i - 1]!; at < length; at++) sum = extendSum(sum, prefix.charCodeAt(at))
      const hash = hashSum(sum, length)
      let entry = this.#entries.get(hash)
      if (!entry) {
        entry = { words: NO_FORMS, long: null, longer: 0, longest: null }
        this.#entries.set(hash, entry)
      }
      const last = prefix.length < (PREFIX_LENGTHS[i + 1] ?? Number.POSITIVE_INFINITY)
      visit(entry, last, hash)
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

  #markBit(bit: number): void {
    this.#bits[bit >>> 3]! |= 1 << (bit & 7)
  }

  /** Fibonacci hashing (Knuth, The Art of Computer Programming 3, 6.4). */
  #findBit(gram: number): number {
    return Math.imul(gram, 0x9e3779b1) >>> this.#shift
  }
}

type PrefixVisitor<Text> = (entry: PrefixEntry, text: Text, from: number) => boolean

function countForms({ words, long }: PrefixEntry): number {
  return (long?.size ?? 0) + (words instanceof PrefixBucket ? words.size : words.length)
}

function longestOfEntry(entry: PrefixEntry): number {
  const { words } = entry
  entry.longest ??= words instanceof PrefixBucket ? words.longest : Math.max(0, ...words.map(({ span }) => span.length))
  return entry.longest
}

function addToEntry(entry: PrefixEntry, form: SecretForm): void {
  if (form.isLong) {
    entry.long ??= new LongFormIndex()
    entry.long.add(form)
    return
  }
  const { words } = entry
  entry.longest = null
  if (words instanceof PrefixBucket) words.add(form)
  else if (words.length === MAX_LISTED) entry.words = new PrefixBucket(words.concat(form))
  else entry.words = words.concat(form)
}

function removeFromEntry(entry: PrefixEntry, form: SecretForm): void {
  const { words, long } = entry
  if (form.isLong) long?.remove(form)
  else if (words instanceof PrefixBucket) words.remove(form)
  else entry.words = words.toSpliced(words.indexOf(form), 1)
}

function longestOfEntryAt({ words, long }: PrefixEntry, text: HashedText, from: number): number {
  let longest = long === null ? 0 : long.longestAt(text, from)
  if (words instanceof PrefixBucket) return Math.max(longest, words.longestAt(text, from))
  for (const form of words) if (form.span.length > longest && form.standsAt(text, from)) longest = form.span.length
  return longest
}

/** Adds a range that does not begin before the last range. */
export function mergeRange(ranges: TextRange[], [from, to]: TextRange): void {
  const last = ranges.at(-1)
  if (last && last[1] >= from) last[1] = Math.max(last[1], to)
  else ranges.push([from, to])
}

/** Packs four characters into a number. */
function readGram(text: string, at: number): number {
  return (
    text.charCodeAt(at) ^
    (text.charCodeAt(at + 1) << 8) ^
    (text.charCodeAt(at + 2) << 16) ^
    (text.charCodeAt(at + 3) << 24)
  )
}
