// Tells whether a JSON object is complete while its text comes in pieces. It keeps no text and reads each character once.

const QUOTE = 0x22
const BACKSLASH = 0x5c

type ScanState = 'before' | 'within' | 'behind' | 'none'

export class JsonObjectScanner {
  #state: ScanState = 'before'
  /** Open braces and brackets. */
  #depth = 0
  #isInString = false
  #isEscaped = false

  /** Whether all braces and brackets are closed, with only space around the object. The content between them is not validated. */
  get isComplete(): boolean {
    return this.#state === 'behind'
  }

  /** Adds the next piece, which may begin and end anywhere. */
  add(text: string): void {
    for (let at = 0; at < text.length && this.#state !== 'none'; at++) {
      const code = text.charCodeAt(at)
      if (this.#isInString) this.#scanString(code)
      else if (this.#state === 'within') this.#scanStructure(code)
      else if (!isSpace(code)) this.#scanStart(code)
    }
  }

  #scanStart(code: number): void {
    const begins = this.#state === 'before' && code === 0x7b
    this.#state = begins ? 'within' : 'none'
    this.#depth = 1
  }

  #scanStructure(code: number): void {
    if (code === QUOTE) this.#isInString = true
    else if (code === 0x7b || code === 0x5b) this.#depth++
    else if ((code === 0x7d || code === 0x5d) && --this.#depth === 0) this.#state = 'behind'
  }

  #scanString(code: number): void {
    if (this.#isEscaped) this.#isEscaped = false
    else if (code === BACKSLASH) this.#isEscaped = true
    else if (code === QUOTE) this.#isInString = false
  }
}

function isSpace(code: number): boolean {
  return code === 0x20 || code === 0x0a || code === 0x0d || code === 0x09
}
