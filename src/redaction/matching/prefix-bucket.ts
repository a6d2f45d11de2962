// Finds the longest of many forms with the same prefix, in a number of steps that is logarithmic in their length. Forms
// are encoded and indexed one by one.
import { createSpan, type HashedText, type HashSpan, listStageLengths } from './rolling-hashes.ts'
import { measureLongestForm, type SecretForm } from './secret-form.ts'

/** A prefix of some forms. */
interface PrefixMark {
  /** How many forms have this prefix as a mark. */
  uses: number
  /** How many forms end with this prefix. */
  ends: number
  /** The length of the longest form that is a shorter prefix of this one, valid while `#change_count` equals `seen`. */
  shorter: number
  seen: number
}

/** All marks of one length, by hash. */
interface MarkStage {
  readonly span: HashSpan
  readonly marks: Map<number, PrefixMark>
}

/**
 * Binary search on lengths (M. Waldvogel and others, Scalable high speed IP routing lookups, 1997), bit by bit: a form
 * adds a mark at each stage of its length, independently of other forms. The longest form below a mark is found when a
 * text matches it, and cached until the forms change.
 */
export class PrefixBucket {
  readonly #forms = new Set<SecretForm>()
  readonly #stages = new Map<number, MarkStage>()
  /** The highest bit of all lengths so far. */
  #highest = 0
  #change_count = 0
  /** Null if it must be computed again. */
  #longest: number | null = null

  constructor(forms: Iterable<SecretForm>) {
    for (const form of forms) this.add(form)
  }

  add(form: SecretForm): void {
    this.#forms.add(form)
    this.#clearCaches()
    const { stages } = form
    const lengths = listStageLengths(form.span.length)
    this.#highest = Math.max(this.#highest, lengths[0]!)
    for (const [at, length] of lengths.entries()) {
      const mark = this.#getMark(length, stages[at]!)
      mark.uses++
      if (length === form.span.length) mark.ends++
    }
  }

  remove(form: SecretForm): void {
    this.#forms.delete(form)
    this.#clearCaches()
    const { stages } = form
    for (const [at, length] of listStageLengths(form.span.length).entries()) {
      const { marks } = this.#stages.get(length)!
      const mark = marks.get(stages[at]!)!
      mark.uses--
      if (length === form.span.length) mark.ends--
      if (mark.uses === 0) marks.delete(stages[at]!)
      if (marks.size === 0) this.#stages.delete(length)
    }
  }

  get size(): number {
    return this.#forms.size
  }

  /** The length of the longest form. */
  get longest(): number {
    this.#longest ??= measureLongestForm(this.#forms)
    return this.#longest
  }

  /** The length of the longest form at a position; 0 for none. */
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

  /** The longest mark at a position, up to `most` characters: no matching form is longer. */
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
