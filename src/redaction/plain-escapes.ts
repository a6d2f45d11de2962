// JSON text whose letters and digits are written as themselves: `\u0073k-1` says what `sk-1` does (RFC 8259, section 7). Whoever looks for a secret in the
// arguments of a call, which are JSON within a text, looks at this.

import type { Steps } from '../time-slices.ts'
import { LONG_TEXT } from './text-steps.ts'

/** A piece of JSON text may end within an escape; the pair of backslashes before it is none. */
const UNFINISHED = /(?<!\\)(?:\\\\)*(\\(?:u(?:0(?:0[2-7]?)?)?)?)$/
const ESCAPE = /\\(?:u00([2-7][\da-fA-F])|.)/gs
/** What secrets are written with, and needs no escape. */
const PLAIN = /[\w.~+/=-]/

/** The same JSON text, or a part of one that ends within no escape. */
export function withPlainEscapes(text: string): string {
  if (!text.includes('\\u00')) return text
  return text.replaceAll(ESCAPE, (whole, code: string | undefined) => {
    const character = code === undefined ? '' : String.fromCharCode(Number.parseInt(code, 16))
    return PLAIN.test(character) ? character : whole
  })
}

/** The same of a long text, in steps. */
export function* plainEscapesSteps(text: string): Steps<string> {
  if (!text.includes('\\u00')) return text
  const plain = new PlainEscapes()
  let told = ''
  for (let at = 0; at < text.length; at += LONG_TEXT) {
    told += plain.push(text.slice(at, at + LONG_TEXT))
    yield
  }
  return told + plain.end()
}

/** The same of a text that comes in pieces. */
export class PlainEscapes {
  /** An escape that has begun. */
  #begun = ''

  /** How many characters are held back. */
  get waiting(): number {
    return this.#begun.length
  }

  /** Whether `push` gives the piece as it is, with nothing held back. */
  wouldPass(piece: string): boolean {
    if (this.#begun !== '') return false
    return !piece.includes('\\') || (!UNFINISHED.test(piece) && withPlainEscapes(piece) === piece)
  }

  push(piece: string): string {
    const text = this.#begun + piece
    if (!text.includes('\\')) return text
    this.#begun = UNFINISHED.exec(text)?.[1] ?? ''
    return withPlainEscapes(text.slice(0, text.length - this.#begun.length))
  }

  /** The rest: nothing follows. */
  end(): string {
    const rest = this.#begun
    this.#begun = ''
    return rest
  }
}
