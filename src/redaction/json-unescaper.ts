// JSON text whose letters and digits are written as themselves: `\u0073k-1` says what `sk-1` does (RFC 8259, section 7). Whoever looks for a secret in the
// arguments of a call, which are JSON within a text, looks at this.

import type { Steps } from '../shared/time-slices.ts'
import { REDACTION_CHUNK_LENGTH } from './long-text-redaction.ts'

/** A piece of JSON text may end within an escape; the pair of backslashes before it is none. */
const UNFINISHED_ESCAPE = /(?<!\\)(?:\\\\)*(\\(?:u(?:0(?:0[2-7]?)?)?)?)$/
const ESCAPE = /\\(?:u00([2-7][\da-fA-F])|.)/gs
/** What secrets are written with, and needs no escape. */
const UNESCAPED_CHARACTER = /[\w.~+/=-]/

/** The same JSON text, or a part of one that ends within no escape. */
export function unescapeJsonText(text: string): string {
  if (!text.includes('\\u00')) return text
  return text.replaceAll(ESCAPE, (whole, code: string | undefined) => {
    const character = code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16))
    return UNESCAPED_CHARACTER.test(character) ? character : whole
  })
}

/** The same of a long text, in steps. */
export function* unescapeJsonTextSteps(text: string): Steps<string> {
  if (!text.includes('\\u00')) return text
  const plain = new JsonUnescaper()
  let told = ''
  for (let at = 0; at < text.length; at += REDACTION_CHUNK_LENGTH) {
    told += plain.push(text.slice(at, at + REDACTION_CHUNK_LENGTH))
    yield
  }
  return told + plain.end()
}

/** The same of a text that comes in pieces. */
export class JsonUnescaper {
  /** An escape that has begun. */
  #unfinished = ''

  /** How many characters are held back. */
  get waiting(): number {
    return this.#unfinished.length
  }

  /** Whether `push` gives the piece as it is, with nothing held back. */
  wouldPass(piece: string): boolean {
    if (this.#unfinished !== '') return false
    return !piece.includes('\\') || (!UNFINISHED_ESCAPE.test(piece) && unescapeJsonText(piece) === piece)
  }

  push(piece: string): string {
    const text = this.#unfinished + piece
    if (!text.includes('\\')) return text
    this.#unfinished = UNFINISHED_ESCAPE.exec(text)?.[1] ?? ''
    return unescapeJsonText(text.slice(0, text.length - this.#unfinished.length))
  }

  /** The rest: nothing follows. */
  end(): string {
    const rest = this.#unfinished
    this.#unfinished = ''
    return rest
  }
}
