// Limits the work that one firing spends on a pattern. A search is linear in the text, but its factor is the pattern's size times its
// groups. A search for all matches may read to the end of the text for each match.
import type { RE2JS } from 're2js'
import { NodeError } from '../engine/node-api/node-error.ts'
import { findText } from './shared/text-search.ts'

type Pattern = ReturnType<typeof RE2JS.compile>
type Matcher = ReturnType<Pattern['matcher']>

/** In steps of the matching machine: about a second. */
const MOST_STEPS = 500_000_000

/** Steps of the start of a search, and of a character that is read, besides those of the pattern. */
const STEPS_PER_SEARCH = 700
const STEPS_PER_READ = 24

/** In instructions. Few instructions are active at once, except in large hostile patterns, which therefore cost more. */
const LARGE_PROGRAM = 300

/** Group positions that are copied in the time of one step. */
const GROUPS_PER_STEP = 16

function stepsPerRead(pattern: Pattern, groups: number): number {
  const size = pattern.programSize()
  return (size + STEPS_PER_READ) * (1 + size / LARGE_PROGRAM) * (1 + (2 * (groups + 1)) / GROUPS_PER_STEP)
}

/** The budget that several searches of one firing share. */
export class MatchBudget {
  left = MOST_STEPS
}

/**
 * A text that counts how often it is read. The matching machine accepts strings and objects that look like strings, and reads their
 * characters one by one. A test checks that this stays so.
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

  /** Each search reads this tag, so each search is counted. */
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
      'The pattern takes too much work on this text. Simplify it, with fewer groups and repeats, or split the text first.',
      'too_large',
    )
  }
}

/** Searches a text for a pattern. Throws NodeError `too_large` if that takes too much work. */
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

  /** The next match, or null. Groups are located only when they are read. */
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
