// Words that begin alike, however many: finds the longest that stands at a place in steps whose number is the logarithm of their length. They are written
// and arranged as they come, one by one.
import { type Parts, type Span, spanOf, stagesOf } from './hashes.ts'
import { longestOf, type Word } from './word.ts'

/** A beginning of some words. */
interface Mark {
  /** How many words have left it. */
  uses: number
  /** How many words end with it. */
  ends: number
  /** The length of the longest word that it begins with and that is shorter, as it was when `seen` was the number of changes. */
  shorter: number
  seen: number
}

/** All marks of one length, by their hashes. */
interface Stage {
  readonly span: Span
  readonly marks: Map<number, Mark>
}

/**
 * Binary search on lengths (M. Waldvogel and others, Scalable high speed IP routing lookups, 1997), bit by bit: a word leaves a mark at each stage of its
 * length, whatever other words there are. What is longest below a mark is found when a text has it, and kept until a word comes or goes.
 */
export class Crowd {
  readonly #words = new Set<Word>()
  readonly #stages = new Map<number, Stage>()
  /** The highest bit of the lengths of words that have come. */
  #highest = 0
  #changes = 0
  /** Null: nobody has asked since a word came or went. */
  #longest: number | null = null

  constructor(words: Iterable<Word>) {
    for (const word of words) this.add(word)
  }

  add(word: Word): void {
    this.#words.add(word)
    this.#change()
    const { stages } = word
    const lengths = stagesOf(word.span.length)
    this.#highest = Math.max(this.#highest, lengths[0]!)
    for (const [at, length] of lengths.entries()) {
      const mark = this.#markOf(length, stages[at]!)
      mark.uses++
      if (length === word.span.length) mark.ends++
    }
  }

  remove(word: Word): void {
    this.#words.delete(word)
    this.#change()
    const { stages } = word
    for (const [at, length] of stagesOf(word.span.length).entries()) {
      const { marks } = this.#stages.get(length)!
      const mark = marks.get(stages[at]!)!
      mark.uses--
      if (length === word.span.length) mark.ends--
      if (mark.uses === 0) marks.delete(stages[at]!)
      if (marks.size === 0) this.#stages.delete(length)
    }
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
    const passed: Mark[] = []
    let longest = 0
    for (let most = text.length - from; ; ) {
      const [length, mark] = this.#lastMark(text, from, most)
      if (mark === null) break
      longest = mark.ends > 0 ? length : mark.shorter
      if (mark.ends > 0 || mark.seen === this.#changes) break
      passed.push(mark)
      longest = 0
      most = length - 1
    }
    for (const mark of passed) Object.assign(mark, { shorter: longest, seen: this.#changes })
    return longest
  }

  /** The longest mark that stands at a place and has at most so many characters: no word that stands there is longer. */
  #lastMark(text: Parts, from: number, most: number): [length: number, mark: Mark | null] {
    let [length, last]: [number, Mark | null] = [0, null]
    for (let bit = this.#highest; bit > 0; bit >>>= 1) {
      const stage = length + bit > most ? undefined : this.#stages.get(length + bit)
      const mark = stage?.marks.get(text.long(from, stage.span))
      if (mark) [length, last] = [length + bit, mark]
    }
    return [length, last]
  }

  #markOf(length: number, hash: number): Mark {
    const stage = this.#stages.get(length) ?? { span: spanOf(length), marks: new Map<number, Mark>() }
    this.#stages.set(length, stage)
    const mark = stage.marks.get(hash) ?? { uses: 0, ends: 0, shorter: 0, seen: -1 }
    stage.marks.set(hash, mark)
    return mark
  }

  #change(): void {
    this.#longest = null
    this.#changes++
  }
}
