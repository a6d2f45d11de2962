// Bounds what one firing spends on a pattern. Matching is linear in the text for one search, but its factor is the size of
// the pattern times its groups, and a search for all matches may read to the end of the text for each of them.
import type { RE2JS } from 're2js'
import { NodeError } from '../engine/node-type.ts'
import { search } from './text-search.ts'

type Pattern = ReturnType<typeof RE2JS.compile>
type Matcher = ReturnType<Pattern['matcher']>

/** In steps of the matching machine at most: a second or so. */
const MOST_STEPS = 500_000_000

/** Steps that the beginning of a search takes, and a character that is read, besides those of the pattern. */
const EACH_SEARCH = 700
const EACH_READ = 24

/** In instructions. Few of them are at work at once, save in large patterns that were made to harm: those count for more. */
const LARGE = 300

/** Places of groups that are copied in the time of one step. */
const COPIED = 16

function stepsPerRead(pattern: Pattern, groups: number): number {
  const size = pattern.programSize()
  return (size + EACH_READ) * (1 + size / LARGE) * (1 + (2 * (groups + 1)) / COPIED)
}

/** What several searches of one firing may cost together. */
export class SharedWork {
  left = MOST_STEPS
}

/**
 * A text that counts how often it is read. The matching machine takes strings and what calls itself one, and reads its
 * characters one by one; that it still does is held by a test.
 */
class CountedText {
  readonly length: number
  stepsPerRead = 0
  readonly #text: string
  readonly #work: SharedWork

  constructor(text: string, work: SharedWork) {
    this.#text = text
    this.#work = work
    this.length = text.length
  }

  /** Each search asks it what it is, and so is counted as well. */
  get [Symbol.toStringTag](): string {
    this.#spend(EACH_SEARCH)
    return 'String'
  }

  charCodeAt(at: number): number {
    this.#spend(this.stepsPerRead)
    return this.#text.charCodeAt(at)
  }

  indexOf(part: string, from: number): number {
    const found = search(this.#text, part, from)
    this.#spend(part.length + (found < 0 ? this.length : found) - from)
    return found
  }

  substring(start: number, end: number): string {
    return this.#text.substring(start, end)
  }

  toString(): string {
    return this.#text
  }

  #spend(steps: number): void {
    this.#work.left -= steps
    if (this.#work.left >= 0) return
    throw new NodeError(
      'The pattern takes too much work on this text. Make it simpler, with fewer groups and repeats, or cut the text up first.',
      'too_large',
    )
  }
}

/** One firing's search for a pattern in a text. Throws NodeError `too_large` where it takes too much work. */
export class Searching {
  readonly #matcher: Matcher
  readonly #text: CountedText
  readonly #toFind: number
  readonly #toGroup: number

  constructor(pattern: Pattern, text: string, work = new SharedWork()) {
    this.#text = new CountedText(text, work)
    this.#toFind = stepsPerRead(pattern, 0)
    this.#toGroup = stepsPerRead(pattern, pattern.groupCount())
    this.#matcher = pattern.matcher(this.#text as unknown as string)
  }

  /** The next match, if there is one. Groups are only looked for when they are asked for. */
  find(): Matcher | null {
    this.#text.stepsPerRead = this.#toFind
    if (!this.#matcher.find()) return null
    this.#text.stepsPerRead = this.#toGroup
    return this.#matcher
  }

  /** The whole text with every match replaced, from the beginning. */
  replaceAll(replacement: string): string {
    this.#text.stepsPerRead = replacement.includes('$') ? this.#toGroup : this.#toFind
    return this.#matcher.replaceAll(replacement)
  }
}
