// Texts that follow each other and may be parts of one, such as the pieces of a streamed answer: joined, they are told as `RedactedStream` tells the one
// text. Each is told as it is unless something is replaced in it or right before.
import type { Redactor } from './redactor.ts'
import { RedactedStream } from './stream.ts'

export class RedactedItems {
  readonly #stream: RedactedStream
  /** Items that are not told yet, one after another. */
  #waiting: string[] = []
  /** What may be told of them. */
  #told = ''
  /** Whether a part of the first of them was told before. */
  #begun = false

  constructor(redactor: Redactor) {
    this.#stream = new RedactedStream(redactor)
  }

  /** How many items are held back. */
  get waiting(): number {
    return this.#waiting.length
  }

  /** Takes the next item, and gives those that may be told now, in order. */
  push(item: string): string[] {
    this.#waiting.push(item)
    this.#told += this.#stream.push(item)
    const isAll = this.#stream.waiting === 0
    const ready = this.#unchanged()
    const [first] = this.#waiting
    if (first === undefined) return ready
    if (isAll) return [...ready, ...this.#allChanged()]
    return this.#begun || !first.startsWith(this.#told) ? [...ready, ...this.#changed()] : ready
  }

  /** The rest: no item follows that may belong to these. */
  end(): string[] {
    return this.#rest(this.#stream.end())
  }

  /** The same where more would have followed. */
  cut(): string[] {
    return this.#rest(this.#stream.cut())
  }

  #rest(text: string): string[] {
    this.#told += text
    const ready = [...this.#unchanged(), ...this.#allChanged()]
    const rest = this.#told
    this.#told = ''
    return rest === '' ? ready : [...ready, rest]
  }

  /** Those in which nothing is replaced. */
  #unchanged(): string[] {
    const ready: string[] = []
    while (!this.#begun && this.#waiting.length > 0 && this.#told.startsWith(this.#waiting[0]!)) {
      const item = this.#waiting.shift()!
      this.#told = this.#told.slice(item.length)
      ready.push(item)
    }
    return ready
  }

  /** All that wait: what is told of them, with the first one, but for those at the end that are told as they are. */
  #allChanged(): string[] {
    const items = this.#waiting
    if (items.length === 0) return []
    let [from, told] = [items.length, this.#told]
    while (from > 1 && told.endsWith(items[from - 1]!)) told = told.slice(0, told.length - items[--from]!.length)
    this.#waiting = []
    this.#told = ''
    this.#begun = false
    return items.map((item, at) => (at === 0 ? told : at < from ? '' : item))
  }

  /** Those but the last: something is replaced in them, and more may follow. Who waited until items begin again where texts do might wait for ever. */
  #changed(): string[] {
    if (this.#waiting.length < 2) return []
    const last = this.#waiting.pop()!
    const ready = this.#waiting.map((_item, at) => (at === 0 ? this.#told : ''))
    this.#waiting = [last]
    this.#told = ''
    this.#begun = true
    return ready
  }
}
