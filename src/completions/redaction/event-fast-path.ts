// Events of a stream that are a word each, around which nothing is that was not around the one before. Most events are: what is around the word need
// not be looked at again, and no word is read as JSON.

import { isEscapedQuote } from '../upstream/chunk-scan.ts'
import type { TextPiece } from './choice-texts.ts'
import type { StreamedChoiceText } from './streamed-choice-text.ts'

/** Texts that say the same in every event. */
const REPEATED: ReadonlySet<string | number> = new Set(['role', 'type', 'finish_reason', 'native_finish_reason'])
const VALUE = /\s*:\s*"/y
const EVENT_END = /(?:\r\n\r\n|\n\n|\r\r)$/

interface EventShape {
  readonly before: string
  readonly behind: string
  /** The one that the words belong to. */
  readonly text: StreamedChoiceText
}

export class EventFastPath {
  #known_shape: EventShape | null = null

  /** Whether all events of a text are words of the known shape, and no word is a part of a secret. The words are taken then. */
  tryTake(text: string): boolean {
    if (!this.#known_shape) return false
    const { before, behind, text: answer } = this.#known_shape
    let said = ''
    for (let at = 0; at < text.length; ) {
      const from = at + before.length
      const to = findTextEnd(text, from)
      const end = to + behind.length
      // Parts of a text are compared as a whole; `startsWith` looks at one character after the other.
      if (text.slice(at, from) !== before || text.slice(to, end) !== behind) return false
      const word = decodeJsonText(text.slice(from, to))
      if (word === null) return false
      said += word
      at = end
    }
    return answer.tryPass(said)
  }

  /** Remembers what is around the only text of an event, which holds no secret; nothing where it has several. `textOf`: the text of a key. */
  learn(event: string, pieces: readonly TextPiece[], textOf: (key: string) => StreamedChoiceText | null): void {
    const words = pieces.filter(({ name, text }) => text !== '' && !REPEATED.has(name))
    const [word] = words
    if (!word || words.length > 1 || !EVENT_END.test(event)) return
    const from = findTextStart(event, word)
    const text = textOf(word.key)
    if (from < 0 || !text) return
    const to = findTextEnd(event, from)
    if (decodeJsonText(event.slice(from, to)) !== word.text) return
    this.#known_shape = { before: event.slice(0, from), behind: event.slice(to), text }
  }
}

/** Where the characters of a text begin in its event; -1 where its name stands there twice. */
function findTextStart(event: string, { name }: TextPiece): number {
  const quoted = JSON.stringify(name)
  const at = event.indexOf(quoted)
  if (typeof name !== 'string' || at < 0 || event.lastIndexOf(quoted) !== at) return -1
  VALUE.lastIndex = at + quoted.length
  return VALUE.test(event) ? VALUE.lastIndex : -1
}

/** Where the quote is that ends a text in JSON. */
function findTextEnd(text: string, from: number): number {
  let to = text.indexOf('"', from)
  while (to > from && text[to - 1] === '\\' && isEscapedQuote(text, to)) to = text.indexOf('"', to + 1)
  return to
}

/** What a text in JSON says; null where it is none. */
function decodeJsonText(written: string): string | null {
  if (!written.includes('\\')) return written
  try {
    return JSON.parse(`"${written}"`) as string
  } catch {
    return null
  }
}
