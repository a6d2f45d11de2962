// Bounds what one firing spends on a pattern. Matching is linear in the text for one search, but its factor is the size of
// the pattern times its groups, and a search for all matches may read to the end of the text for each of them.
import type { RE2JS } from 're2js'
import { NodeError } from '../engine/node-api/node-type.ts'
import { findText } from './shared/text-search.ts'

type Pattern = ReturnType<typeof RE2JS.compile>
type Matcher = ReturnType<Pattern['matcher']>

/** In steps of the matching machine at most: a second or so. */
const MOST_STEPS = 500_000_000

/** Steps that the beginning of a search takes, and a character that is read, besides those of the pattern. */
const STEPS_PER_SEARCH = 700
const STEPS_PER_READ = 24

/** In instructions. Few of them are at work at once, save in large patterns that were made to harm: those count for more. */
const LARGE_PROGRAM = 300

/** Places of groups that are copied in the time of one step. */
const GROUPS_PER_STEP = 16

function stepsPerRead(pattern: Pattern, groups: number): number {
  const size = pattern.programSize()
  return (size + STEPS_PER_READ) * (1 + size / LARGE_PROGRAM) * (1 + (2 * (groups + 1)) / GROUPS_PER_STEP)
}

/** What several searches of one firing may cost together. */
export class MatchBudget {
  left = MOST_STEPS
}

/**
 * A text that counts how often it is read. The matching machine takes strings and what calls itself one, and reads its
 * characters one by one; that it still does is held by a test.
 */
class MeteredText {
  readonly length: number
  stepsPerRead = 0
  readonly #text: string
  readonly #work: MatchBudget

  constructor(text: string, work: MatchBudget) {
    this.#text = text
    this.#work = work
    this.length = text.length
  }

  /** Each search asks it what it is, and so is counted as well. */
  get [Symbol.toStringTag](): string {
    this.#spend(STEPS_PER_SEARCH)
    return 'String'
  }

  charCodeAt(at: number): number {
    this.#spend(this.stepsPerRead)
    return this.#text.charCodeAt(at)
  }

  indexOf(part: string, from: number): number {
    const found = findText(this.#text, part, from)
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
export class BoundedMatcher {
  readonly #matcher: Matcher
  readonly #text: MeteredText
  readonly #stepsToFind: number
  readonly #stepsToGroup: number

  constructor(pattern: Pattern, text: string, work = new MatchBudget()) {
    this.#text = new MeteredText(text, work)
    this.#stepsToFind = stepsPerRead(pattern, 0)
    this.#stepsToGroup = stepsPerRead(pattern, pattern.groupCount())
    this.#matcher = pattern.matcher(this.#text as unknown as string)
  }

  /** The next match, if there is one. Groups are only looked for when they are asked for. */
  find(): Matcher | null {
    this.#text.stepsPerRead = this.#stepsToFind
    if (!this.#matcher.find()) return null
    this.#text.stepsPerRead = this.#stepsToGroup
    return this.#matcher
  }

  /** The whole text with every match replaced, from the beginning. */
  replaceAll(replacement: string): string {
    this.#text.stepsPerRead = replacement.includes('$') ? this.#stepsToGroup : this.#stepsToFind
    return this.#matcher.replaceAll(replacement)
  }
}
