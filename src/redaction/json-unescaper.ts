// Unescapes letters and digits in JSON text: `\u0073k-1` means `sk-1` (RFC 8259, section 7). Tool call arguments are
// JSON inside a string, and are searched for secrets in this form.

import type { Steps } from '../shared/time-slices.ts'
import { REDACTION_CHUNK_LENGTH } from './long-text-redaction.ts'

/** A piece of JSON text may end inside an escape; pairs of backslashes before it are complete. */
const UNFINISHED_ESCAPE = /(?<!\\)(?:\\\\)*(\\(?:u(?:0(?:0[2-7]?)?)?)?)$/
const ESCAPE = /\\(?:u00([2-7][\da-fA-F])|.)/gs
/** Characters of secrets that need no escape. */
const UNESCAPED_CHARACTER = /[\w.~+/=-]/

/** Unescapes JSON text, or a part of it that does not end inside an escape. */
export function unescapeJsonText(text: string): string {
  if (!text.includes('\\u00')) return text
  return text.replaceAll(ESCAPE, (whole, code: string | undefined) => {
    const character = code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16))
    return UNESCAPED_CHARACTER.test(character) ? character : whole
  })
}

/** Does the same for a long text, in steps. */
export function* unescapeJsonTextSteps(text: string): Steps<string> {
  if (!text.includes('\\u00')) return text
  const unescaper = new JsonUnescaper()
  let unescaped = ''
  for (let at = 0; at < text.length; at += REDACTION_CHUNK_LENGTH) {
    unescaped += unescaper.push(text.slice(at, at + REDACTION_CHUNK_LENGTH))
    yield
  }
  return unescaped + unescaper.end()
}

/** Does the same for a streamed text. */
export class JsonUnescaper {
  /** An incomplete escape. */
  #unfinished = ''

  /** The number of held characters. */
  get waiting(): number {
    return this.#unfinished.length
  }

  /** Whether `push` would return the piece unchanged and hold nothing. */
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

  /** Returns the held characters at the end of the text. */
  end(): string {
    const rest = this.#unfinished
    this.#unfinished = ''
    return rest
  }
}
