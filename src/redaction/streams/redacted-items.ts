// Redacts consecutive texts that may form one text, such as pieces of a streamed answer: joined, they equal the output
// of `RedactedStream`. An item changes only if something in it or right before it is replaced.
import type { Steps } from '../../shared/time-slices.ts'
import type { Redactor } from '../redactor.ts'
import { RedactedStream } from './redacted-stream.ts'

export class RedactedItems {
  readonly #stream: RedactedStream
  /** Items that are not emitted yet, in order. */
  #waiting: string[] = []
  /** Redacted text of these items. */
  #redacted = ''
  /** Whether a part of the first item was emitted already. */
  #isFirstStarted = false

  constructor(redactor: Redactor) {
    this.#stream = new RedactedStream(redactor)
  }

  /** The number of held items. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** The number of held characters that are not decided yet. */
  get undecided(): number {
    return this.#stream.waiting
  }

  /** Takes the next item, and returns the items that may be emitted now, in order. */
  push(item: string): string[] {
    this.#waiting.push(item)
    return this.#takeReady(this.#stream.push(item))
  }

  /** Like `push`, if many characters are undecided. The caller finishes all steps before the next item. */
  *pushSteps(item: string): Steps<string[]> {
    this.#waiting.push(item)
    return this.#takeReady(yield* this.#stream.pushSteps(item))
  }

  #takeReady(text: string): string[] {
    this.#redacted += text
    const isAll = this.#stream.waiting === 0
    const ready = this.#takeUnchanged()
    const [first] = this.#waiting
    if (first === undefined) return ready
    if (isAll) return [...ready, ...this.#takeAllChanged()]
    return this.#isFirstStarted || !first.startsWith(this.#redacted) ? [...ready, ...this.#takeChanged()] : ready
  }

  /** Ends the items: no later item continues them. */
  end(): string[] {
    return this.#takeRest(this.#stream.end())
  }

  /** Does the same if later items are missing. */
  cut(): string[] {
    return this.#takeRest(this.#stream.cut())
  }

  /** Like `cut`, if much is held. The caller finishes all steps before the next call. */
  *cutSteps(): Steps<string[]> {
    return this.#takeRest(yield* this.#stream.cutSteps())
  }

  #takeRest(text: string): string[] {
    this.#redacted += text
    const ready = [...this.#takeUnchanged(), ...this.#takeAllChanged()]
    const rest = this.#redacted
    this.#redacted = ''
    return rest === '' ? ready : [...ready, rest]
  }

  /** Takes the items without replacements. A secret may hold very many items, so they are taken together. */
  #takeUnchanged(): string[] {
    if (this.#isFirstStarted) return []
    let [count, length] = [0, 0]
    for (const item of this.#waiting) {
      if (!this.#redacted.startsWith(item, length)) break
      length += item.length
      count++
    }
    this.#redacted = this.#redacted.slice(length)
    return this.#waiting.splice(0, count)
  }

  /** Takes all items: the redacted text replaces the first, except unchanged items at the end. */
  #takeAllChanged(): string[] {
    const items = this.#waiting.splice(0)
    if (items.length === 0) return []
    let [from, to] = [items.length, this.#redacted.length]
    while (from > 1 && this.#redacted.endsWith(items[from - 1]!, to)) to -= items[--from]!.length
    const redacted = this.#redacted.slice(0, to)
    this.#redacted = ''
    this.#isFirstStarted = false
    return items.map((item, at) => (at === 0 ? redacted : at < from ? '' : item))
  }

  /**
   * Takes all items except the last: something in them is replaced, and more may follow. Waiting for the borders of
   * items and texts to meet again might never end.
   */
  #takeChanged(): string[] {
    if (this.#waiting.length < 2) return []
    const ready = this.#waiting.splice(0, this.#waiting.length - 1).map((_item, at) => (at === 0 ? this.#redacted : ''))
    this.#redacted = ''
    this.#isFirstStarted = true
    return ready
  }
}
