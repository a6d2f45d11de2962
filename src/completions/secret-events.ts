// The events of a streamed answer without secrets, also without those that are cut over several of them. Events in which nothing is replaced pass as they
// came; what may begin a secret waits, with everything behind it, until the next text tells.
import type { Redactor } from '../redaction/redactor.ts'
import type { SecretTail } from '../redaction/secret-tail.ts'
import type { Pieces } from './answer-stream.ts'
import { isEscaped } from './chunk-facts.ts'
import { isRecord, type Json } from './json-values.ts'
import { mayHideSecret, textOf, withoutSecretsInValue } from './secret-texts.ts'

/** The texts of a delta. What stands in another field is looked at event by event. */
const TEXTS = /"(content|reasoning_content|reasoning|refusal|arguments|input|transcript)"\s*:\s*"((?:[^"\\]|\\.)*)"/g
/** Pieces of texts that one event may have several of. */
const SEVERAL = /"(?:tool_calls|function_call|audio)"\s*:\s*[[{]/
/** So many events wait for a text that does not go on. */
const MOST_OTHERS = 16
const EVENT_END = /\r\n\r\n|\n\n|\r\r/g

/** What no event holds. */
const NOTHING = '\n\n\n'
const WORD = '"delta":{"content":"'

/** A piece of a text in an event: where it stands, and what is shown in its place once that is known. */
interface TextPiece {
  readonly holder: Json
  readonly name: string
  readonly text: string
  shown: string | null
}

interface HeldEvent {
  readonly event: string
  /** Its chunk; null where it was not read. */
  readonly chunk: Json | null
  readonly pieces: readonly TextPiece[]
}

/** One text of the answer, such as the content of its first choice. */
interface AnswerText {
  readonly tail: SecretTail
  /** Pieces of which something waits, or that are shown with it. */
  open: TextPiece[]
  /** What may be shown of them. */
  shown: string
}

export class SafeEvents implements Pieces {
  readonly #pieces: Pieces
  readonly #redactor: Redactor
  readonly #isSingle: boolean
  readonly #texts = new Map<string, AnswerText>()
  readonly #content: AnswerText
  readonly #held: HeldEvent[] = []
  /** What stood around the last word; at first what stands around none. */
  #before = NOTHING
  #behind = NOTHING
  /** How many events came, while something waits, that say nothing more of it. */
  #others = 0
  #over = false

  /** `choices`: how many the answer may have. */
  constructor(pieces: Pieces, redactor: Redactor, choices: number) {
    this.#pieces = pieces
    this.#redactor = redactor
    this.#isSingle = choices === 1
    this.#content = this.#textOf('0 content')
  }

  async next(): Promise<string | Uint8Array | null> {
    while (!this.#over) {
      const piece = await this.#pieces.next()
      const shown = piece === null ? this.#end() : this.#take(piece)
      if (shown !== null) return shown
    }
    return null
  }

  close(): void {
    this.#over = true
    this.#pieces.close()
  }

  /** Null where all of it waits. */
  #take(piece: string | Uint8Array): string | Uint8Array | null {
    const text = typeof piece === 'string' ? piece : textOf(piece)
    if (this.#held.length === 0 && (this.#areWords(text) || this.#passes(text))) return piece
    for (const event of eventsIn(text)) this.#hold(event)
    return this.#release()
  }

  /**
   * Whether each event is a word, around which nothing is that was not around the one before, and no word is a part of a secret. Most events are: what
   * is around the word need not be looked at again. The words are taken then.
   */
  #areWords(text: string): boolean {
    if (!this.#isSingle) return false
    let said = ''
    for (let at = 0; at < text.length; ) {
      const from = at + this.#before.length
      const to = endOfText(text, from)
      const end = to + this.#behind.length
      // Parts of a text are compared as a whole; `startsWith` looks at one character after the other.
      if (text.slice(at, from) !== this.#before || text.slice(to, end) !== this.#behind) {
        if (!this.#learn(text, at)) return false
        continue
      }
      const word = plainText(text.slice(from, to))
      if (word === null) return false
      said += word
      at = end
    }
    const { tail } = this.#content
    if (!tail.wouldPass(said)) return false
    tail.push(said)
    return true
  }

  /** Remembers what is around the word of an event; false where there is more than one text in it, or may be a secret. */
  #learn(text: string, at: number): boolean {
    const end = text.indexOf('\n', at)
    const word = text.indexOf(WORD, at)
    if (end < 0 || word < 0 || word > end || text[end + 1] !== '\n') return false
    const to = endOfText(text, word + WORD.length)
    const event = text.slice(at, end + 2)
    const behind = text.slice(to, end + 2)
    if (!event.startsWith('data:') || !behind.startsWith('"}') || behind.includes(WORD)) return false
    if (mayHideSecret(event, this.#redactor)) return false
    this.#before = text.slice(at, word + WORD.length)
    this.#behind = behind
    return true
  }

  /** Whether a text of whole events holds nothing of a secret, nor the beginning of one. The texts in it are taken then. */
  #passes(text: string): boolean {
    if (!this.#isSingle || SEVERAL.test(text) || mayHideSecret(text, this.#redactor)) return false
    const said = new Map<string, string>()
    for (const [, name, written] of text.matchAll(TEXTS)) {
      const plain = plainText(written!)
      if (plain === null) return false
      said.set(name!, (said.get(name!) ?? '') + plain)
    }
    for (const [name, all] of said) if (!this.#textOf(`0 ${name}`).tail.wouldPass(all)) return false
    for (const [name, all] of said) this.#textOf(`0 ${name}`).tail.push(all)
    return true
  }

  #hold(event: string): void {
    const chunk = chunkIn(event)
    const pieces = chunk ? textsOf(chunk, (key, piece) => this.#push(key, piece)) : []
    this.#held.push({ event, chunk, pieces })
    const goesOn = pieces.some(({ shown }) => shown === null)
    this.#others = goesOn ? 0 : this.#others + 1
    if (this.#others > MOST_OTHERS) this.#settleAll()
  }

  #push(key: string, piece: TextPiece): void {
    const text = this.#textOf(key)
    text.open.push(piece)
    text.shown += text.tail.push(piece.text)
    if (text.tail.waiting === 0) settle(text)
  }

  /** All events up to the first one that waits. */
  #release(): string | null {
    const waiting = this.#held.findIndex(({ pieces }) => pieces.some(({ shown }) => shown === null))
    const ready = this.#held.splice(0, waiting < 0 ? this.#held.length : waiting)
    return ready.length === 0 ? null : ready.map((event) => this.#shown(event)).join('')
  }

  #shown({ event, chunk, pieces }: HeldEvent): string {
    if (chunk === null) return withoutSecretsInValue(event, this.#redactor)
    for (const { holder, name, text, shown } of pieces) if (shown !== text) holder[name] = shown
    const safe = withoutSecretsInValue(chunk, this.#redactor)
    const isChanged = safe !== chunk || pieces.some(({ text, shown }) => shown !== text)
    return isChanged ? `data: ${JSON.stringify(safe)}\n\n` : event
  }

  #end(): string | null {
    this.#over = true
    this.#settleAll()
    return this.#release()
  }

  /** What waits goes on no more. */
  #settleAll(): void {
    for (const text of this.#texts.values()) {
      text.shown += text.tail.end()
      settle(text)
    }
    this.#others = 0
  }

  #textOf(key: string): AnswerText {
    const present = this.#texts.get(key)
    if (present) return present
    const text = { tail: this.#redactor.secretTail(), open: [], shown: '' }
    this.#texts.set(key, text)
    return text
  }
}

/** Nothing of these pieces waits: each is shown as it came, or, where something is replaced, all with the first of them. */
function settle(text: AnswerText): void {
  const isUnchanged = text.shown === text.open.map((piece) => piece.text).join('')
  for (const [at, piece] of text.open.entries()) piece.shown = isUnchanged ? piece.text : at === 0 ? text.shown : ''
  text.open = []
  text.shown = ''
}

/** Each with its end. */
function eventsIn(text: string): string[] {
  const events: string[] = []
  let from = 0
  for (const { 0: end, index } of text.matchAll(EVENT_END)) {
    events.push(text.slice(from, index + end.length))
    from = index + end.length
  }
  return from < text.length ? [...events, text.slice(from)] : events
}

/** The object that is the data of an event; null where there is none. */
function chunkIn(event: string): Json | null {
  const lines = event.split(/\r\n|\n|\r/).filter((line) => line.startsWith('data:'))
  try {
    const value: unknown = JSON.parse(lines.map((line) => line.slice('data:'.length)).join('\n'))
    return isRecord(value) ? value : null
  } catch {
    return null
  }
}

const NAMES = ['content', 'reasoning_content', 'reasoning', 'refusal']

/** The pieces of texts in a chunk, each handed to `push` as well with what names its text within the answer. */
function textsOf(chunk: Json, push: (key: string, piece: TextPiece) => void): TextPiece[] {
  const pieces: TextPiece[] = []
  const add = (key: string, holder: unknown, name: string) => {
    if (!isRecord(holder) || typeof holder[name] !== 'string') return
    const piece: TextPiece = { holder, name, text: holder[name], shown: null }
    pieces.push(piece)
    push(key, piece)
  }
  for (const [at, choice] of [chunk.choices].flat().entries()) {
    if (!isRecord(choice) || !isRecord(choice.delta)) continue
    const { index = at, delta } = choice
    for (const name of NAMES) add(`${index} ${name}`, delta, name)
    add(`${index} transcript`, delta.audio, 'transcript')
    add(`${index} arguments`, delta.function_call, 'arguments')
    for (const [place, call] of [delta.tool_calls].flat().entries()) {
      if (!isRecord(call)) continue
      const number = call.index ?? place
      add(`${index} arguments ${number}`, call.function, 'arguments')
      add(`${index} input ${number}`, call.custom, 'input')
    }
  }
  return pieces
}

/** Where the quote is that ends a text in JSON. */
function endOfText(text: string, from: number): number {
  let to = text.indexOf('"', from)
  while (to > from && text[to - 1] === '\\' && isEscaped(text, to)) to = text.indexOf('"', to + 1)
  return to
}

/** What a text in JSON says; null where it is none. */
function plainText(written: string): string | null {
  if (!written.includes('\\')) return written
  try {
    return JSON.parse(`"${written}"`) as string
  } catch {
    return null
  }
}
