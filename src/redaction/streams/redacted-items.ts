// Texts that follow each other and may be parts of one, such as the pieces of a streamed answer: joined, they are told as `RedactedStream` tells the one
// text. Each is told as it is unless something is replaced in it or right before.
import type { Steps } from '../../shared/time-slices.ts'
import type { Redactor } from '../redactor.ts'
import { RedactedStream } from './redacted-stream.ts'

export class RedactedItems {
  readonly #stream: RedactedStream
  /** Items that are not told yet, one after another. */
  #waiting: string[] = []
  /** What may be told of them. */
  #redacted = ''
  /** Whether a part of the first of them was told before. */
  #isFirstStarted = false

  constructor(redactor: Redactor) {
    this.#stream = new RedactedStream(redactor)
  }

  /** How many items are held back. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** How many characters are held back of which it is not decided whether they may be told. */
  get undecided(): number {
    return this.#stream.waiting
  }

  /** Takes the next item, and gives those that may be told now, in order. */
  push(item: string): string[] {
    this.#waiting.push(item)
    return this.#takeReady(this.#stream.push(item))
  }

  /** As `push`, where much is undecided. The next item comes when all steps are done. */
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

  /** The rest: no item follows that may belong to these. */
  end(): string[] {
    return this.#takeRest(this.#stream.end())
  }

  /** The same where more would have followed. */
  cut(): string[] {
    return this.#takeRest(this.#stream.cut())
  }

  #takeRest(text: string): string[] {
    this.#redacted += text
    const ready = [...this.#takeUnchanged(), ...this.#takeAllChanged()]
    const rest = this.#redacted
    this.#redacted = ''
    return rest === '' ? ready : [...ready, rest]
  }

  /** Those in which nothing is replaced. A secret may keep very many waiting: they are let go together. */
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

  /** All that wait: what is told of them, with the first one, but for those at the end that are told as they are. */
  #takeAllChanged(): string[] {
    const items = this.#waiting.splice(0)
    if (items.length === 0) return []
    let [from, to] = [items.length, this.#redacted.length]
    while (from > 1 && this.#redacted.endsWith(items[from - 1]!, to)) to -= items[--from]!.length
    const told = this.#redacted.slice(0, to)
    this.#redacted = ''
    this.#isFirstStarted = false
    return items.map((item, at) => (at === 0 ? told : at < from ? '' : item))
  }

  /** Those but the last: something is replaced in them, and more may follow. Who waited until items begin again where texts do might wait for ever. */
  #takeChanged(): string[] {
    if (this.#waiting.length < 2) return []
    const ready = this.#waiting.splice(0, this.#waiting.length - 1).map((_item, at) => (at === 0 ? this.#redacted : ''))
    this.#redacted = ''
    this.#isFirstStarted = true
    return ready
  }
}
