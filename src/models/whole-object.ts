// Whether a JSON object is whole, as its text comes in pieces. Nothing of the text is kept, and each character is looked at once.

const QUOTE = 0x22
const BACKSLASH = 0x5c

type Stand = 'before' | 'within' | 'behind' | 'none'

export class WholeObject {
  #stand: Stand = 'before'
  /** Of braces and brackets that are open. */
  #depth = 0
  #quoted = false
  #escaped = false

  /** Whether all that was opened is closed, with nothing but space around it. What stands between braces, commas and colons is not looked at. */
  get whole(): boolean {
    return this.#stand === 'behind'
  }

  /** The next piece of the text, which may be parted anywhere. */
  add(text: string): void {
    for (let at = 0; at < text.length && this.#stand !== 'none'; at++) {
      const code = text.charCodeAt(at)
      if (this.#quoted) this.#quote(code)
      else if (this.#stand === 'within') this.#nest(code)
      else if (!isSpace(code)) this.#begin(code)
    }
  }

  #begin(code: number): void {
    const begins = this.#stand === 'before' && code === 0x7b
    this.#stand = begins ? 'within' : 'none'
    this.#depth = 1
  }

  #nest(code: number): void {
    if (code === QUOTE) this.#quoted = true
    else if (code === 0x7b || code === 0x5b) this.#depth++
    else if ((code === 0x7d || code === 0x5d) && --this.#depth === 0) this.#stand = 'behind'
  }

  #quote(code: number): void {
    if (this.#escaped) this.#escaped = false
    else if (code === BACKSLASH) this.#escaped = true
    else if (code === QUOTE) this.#quoted = false
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
