// Words that begin alike, however many: finds the longest that stands at a place in steps whose number is the logarithm of their length. They are written
// and arranged as they come, one by one.
import { createSpan, type HashedText, type HashSpan, listStageLengths } from './rolling-hashes.ts'
import { measureLongestForm, type SecretForm } from './secret-form.ts'

/** A beginning of some words. */
interface PrefixMark {
  /** How many words have left it. */
  uses: number
  /** How many words end with it. */
  ends: number
  /** The length of the longest word that it begins with and that is shorter, as it was when `seen` was the number of changes. */
  shorter: number
  seen: number
}

/** All marks of one length, by their hashes. */
interface MarkStage {
  readonly span: HashSpan
  readonly marks: Map<number, PrefixMark>
}

/**
 * Binary search on lengths (M. Waldvogel and others, Scalable high speed IP routing lookups, 1997), bit by bit: a word leaves a mark at each stage of its
 * length, whatever other words there are. What is longest below a mark is found when a text has it, and kept until a word comes or goes.
 */
export class PrefixBucket {
  readonly #forms = new Set<SecretForm>()
  readonly #stages = new Map<number, MarkStage>()
  /** The highest bit of the lengths of words that have come. */
  #highest = 0
  #change_count = 0
  /** Null: nobody has asked since a word came or went. */
  #longest: number | null = null

  constructor(words: Iterable<SecretForm>) {
    for (const word of words) this.add(word)
  }

  add(word: SecretForm): void {
    this.#forms.add(word)
    this.#clearCaches()
    const { stages } = word
    const lengths = listStageLengths(word.span.length)
    this.#highest = Math.max(this.#highest, lengths[0]!)
    for (const [at, length] of lengths.entries()) {
      const mark = this.#getMark(length, stages[at]!)
      mark.uses++
      if (length === word.span.length) mark.ends++
    }
  }

  remove(word: SecretForm): void {
    this.#forms.delete(word)
    this.#clearCaches()
    const { stages } = word
    for (const [at, length] of listStageLengths(word.span.length).entries()) {
      const { marks } = this.#stages.get(length)!
      const mark = marks.get(stages[at]!)!
      mark.uses--
      if (length === word.span.length) mark.ends--
      if (mark.uses === 0) marks.delete(stages[at]!)
      if (marks.size === 0) this.#stages.delete(length)
    }
  }

  get size(): number {
    return this.#forms.size
  }

  /** How many characters the longest word has. */
  get longest(): number {
    this.#longest ??= measureLongestForm(this.#forms)
    return this.#longest
  }

  /** The length of the longest word that stands at a place; 0 for none. */
  longestAt(text: HashedText, from: number): number {
    const passed: PrefixMark[] = []
    let longest = 0
    for (let most = text.length - from; ; ) {
      const [length, mark] = this.#findLastMark(text, from, most)
      if (mark === null) break
      longest = mark.ends > 0 ? length : mark.shorter
      if (mark.ends > 0 || mark.seen === this.#change_count) break
      passed.push(mark)
      longest = 0
      most = length - 1
    }
    for (const mark of passed) Object.assign(mark, { shorter: longest, seen: this.#change_count })
    return longest
  }

  /** The longest mark that stands at a place and has at most so many characters: no word that stands there is longer. */
  #findLastMark(text: HashedText, from: number, most: number): [length: number, mark: PrefixMark | null] {
    let [length, last]: [number, PrefixMark | null] = [0, null]
    for (let bit = this.#highest; bit > 0; bit >>>= 1) {
      const stage = length + bit > most ? undefined : this.#stages.get(length + bit)
      const mark = stage?.marks.get(text.longHash(from, stage.span))
      if (mark) [length, last] = [length + bit, mark]
    }
    return [length, last]
  }

  #getMark(length: number, hash: number): PrefixMark {
    const stage = this.#stages.get(length) ?? { span: createSpan(length), marks: new Map<number, PrefixMark>() }
    this.#stages.set(length, stage)
    const mark = stage.marks.get(hash) ?? { uses: 0, ends: 0, shorter: 0, seen: -1 }
    stage.marks.set(hash, mark)
    return mark
  }

  #clearCaches(): void {
    this.#longest = null
    this.#change_count++
  }
}
