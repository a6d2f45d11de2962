// A fast path for events of a stream. Most events differ from the event before only in one text: then the rest need not
// be checked again, and no JSON is parsed.

import { isEscapedQuote } from '../upstream/chunk-scan.ts'
import type { TextPiece } from './choice-texts.ts'
import type { StreamedChoiceText } from './streamed-choice-text.ts'

/** Texts that are the same in every event. */
const REPEATED: ReadonlySet<string | number> = new Set(['role', 'type', 'finish_reason', 'native_finish_reason'])
const VALUE = /\s*:\s*"/y
const EVENT_END = /(?:\r\n\r\n|\n\n|\r\r)$/

interface EventShape {
  readonly before: string
  readonly behind: string
  /** The text to which the words belong. */
  readonly text: StreamedChoiceText
}

export class EventFastPath {
  #known_shape: EventShape | null = null

  /**
   * Accepts the events if each has the known shape and none of their words belongs to a secret. Takes the words then.
   */
  tryTake(text: string): boolean {
    if (!this.#known_shape) return false
    const { before, behind, text: answer } = this.#known_shape
    let words_text = ''
    for (let at = 0; at < text.length; ) {
      const from = at + before.length
      const to = findTextEnd(text, from)
      const end = to + behind.length
      // Comparing slices is faster: `startsWith` compares one character after the other.
      if (text.slice(at, from) !== before || text.slice(to, end) !== behind) return false
      const word = decodeJsonText(text.slice(from, to))
      if (word === null) return false
      words_text += word
      at = end
    }
    return answer.tryPass(words_text)
  }

  /**
   * Remembers the text around the only word of an event, which contains no secret. Does nothing if the event has
   * several words. `textOf` finds the text of a key.
   */
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

/** The position where the word begins; -1 if the name of the word occurs twice in the event. */
function findTextStart(event: string, { name }: TextPiece): number {
  const quoted = JSON.stringify(name)
  const at = event.indexOf(quoted)
  if (typeof name !== 'string' || at < 0 || event.lastIndexOf(quoted) !== at) return -1
  VALUE.lastIndex = at + quoted.length
  return VALUE.test(event) ? VALUE.lastIndex : -1
}

/** The position of the quote that ends a JSON string. */
function findTextEnd(text: string, from: number): number {
  let to = text.indexOf('"', from)
  while (to > from && text[to - 1] === '\\' && isEscapedQuote(text, to)) to = text.indexOf('"', to + 1)
  return to
}

/** Null if the text is not a valid JSON string. */
function decodeJsonText(written: string): string | null {
  if (!written.includes('\\')) return written
  try {
    return JSON.parse(`"${written}"`) as string
  } catch {
    return null
  }
}
