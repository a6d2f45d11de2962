// Words that begin alike, however many: finds the longest that stands at a place in steps whose number is the logarithm of theirs.
import { Hashes, type Parts, roomFor, type Span, type Sums, spanOf } from './hashes.ts'
import { longestOf, type Word } from './word.ts'

/** So few are compared one by one. */
const FEW = 8

/** A word, and the longest one that it begins with. */
interface Link {
  readonly word: Word
  readonly length: number
  readonly shorter: Link | null
}

interface Formed {
  readonly word: Word
  readonly form: string
}

/**
 * Binary search on lengths (M. Waldvogel and others, Scalable high speed IP routing lookups, 1997): a word leaves a mark at each length at which the
 * search has to go on to longer ones. A mark knows the longest word that ends there or before. Words that come and go are looked at one by
 * one until they are too many; then the marks are made anew.
 */
export class Crowd {
  readonly #words = new Set<Word>()
  #fresh = new Set<Word>()
  #gone = new Set<Word>()
  /** Null: nobody has asked since a word came or went. */
  #longest: number | null = null
  #lengths: readonly Span[] = []
  /** For each length: by the hash of so many characters. */
  #marks: Map<number, Link | null>[] = []

  constructor(words: Iterable<Word>) {
    for (const word of words) this.add(word)
  }

  add(word: Word): void {
    this.#words.add(word)
    this.#fresh.add(word)
    this.#longest = null
  }

  remove(word: Word): void {
    this.#words.delete(word)
    this.#longest = null
    if (!this.#fresh.delete(word)) this.#gone.add(word)
  }

  get size(): number {
    return this.#words.size
  }

  /** How many characters the longest word has. */
  get longest(): number {
    this.#longest ??= longestOf(this.#words)
    return this.#longest
  }

  /** The length of the longest word that stands at a place; 0 for none. */
  longestAt(text: Parts, from: number): number {
    if (this.#fresh.size + this.#gone.size > FEW + 2 * Math.sqrt(this.#words.size)) this.#arrange()
    let link = this.#search(text, from, 0, this.#lengths.length - 1, null)
    while (link && this.#gone.has(link.word)) link = link.shorter
    let longest = link?.length ?? 0
    for (const word of this.#fresh)
      if (word.span.length > longest && word.standsAt(text, from)) longest = word.span.length
    return longest
  }

  #search(text: Parts, from: number, first: number, last: number, known: Link | null): Link | null {
    let [low, high, found] = [first, last, known]
    while (low <= high) {
      const middle = (low + high) >>> 1
      const span = this.#lengths[middle]!
      const mark = from + span.length <= text.length ? this.#marks[middle]!.get(text.long(from, span)) : undefined
      if (mark === undefined) high = middle - 1
      else [low, found] = [middle + 1, mark]
    }
    return found
  }

  #arrange(): void {
    this.#fresh = new Set()
    this.#gone = new Set()
    const forms = [...this.#words].map((word): Formed => ({ word, form: word.form() }))
    const lengths = new Set(forms.map(({ form }) => form.length))
    this.#lengths = [...lengths].sort((a, b) => a - b).map(spanOf)
    this.#marks = this.#lengths.map(() => new Map())
    // Shorter words first: a mark asks for those that end before it.
    const room = roomFor(this.#lengths.at(-1)?.length ?? 0)
    for (const formed of forms.sort((a, b) => a.form.length - b.form.length)) this.#enter(formed, room)
  }

  #enter({ word, form }: Formed, room: Sums): void {
    const text = new Hashes(form, room)
    let [low, high] = [0, this.#lengths.length - 1]
    let known: Link | null = null
    for (;;) {
      const middle = (low + high) >>> 1
      const span = this.#lengths[middle]!
      if (span.length > form.length) {
        high = middle - 1
        continue
      }
      const marks = this.#marks[middle]!
      const hash = text.long(0, span)
      let mark = marks.get(hash)
      if (mark === undefined) mark = this.#search(text, 0, low, middle - 1, known)
      if (span.length === form.length) {
        word.know(span, hash)
        marks.set(hash, { word, length: span.length, shorter: mark })
        return
      }
      marks.set(hash, mark)
      known = mark
      low = middle + 1
    }
  }
}
