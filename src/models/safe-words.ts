// What a server says, in words that hold nothing of the key that it was asked with, however they write it.
import { holdsSecret, strictMask } from '../net/mask.ts'
import { guessableLength, thresholdOf } from '../redaction/threshold.ts'

/** Of texts within texts, as errors of servers that ask others. */
const LAYERS = 4
/** `\u0073`, `\x73`, `%73`, `&#115;`, `&#x73;`, and a character that needs no escape. */
const ESCAPED = /\\u\{?([0-9a-f]{1,6})\}?|\\x([0-9a-f]{2})|%([0-9a-f]{2})|&#x([0-9a-f]{1,6});|&#(\d{1,7});|\\(.)/gi

/** Masks a text that was read: `***` where the key stands, and nothing at all where it can only be found by reading on. */
export function safeWords(credential: string | null): (text: string) => string {
  const secrets = credential === null ? [] : [...new Set([credential, credential.trim()])].filter((one) => one !== '')
  if (secrets.length === 0) return (text) => text
  const mask = strictMask(secrets)
  const parts = secrets.map((secret) => new SecretParts(secret))
  return (text) => {
    const masked = withoutShortened(parts.reduce((left, part) => part.replacedIn(left), mask(text)))
    let plain = masked
    for (let layer = 0; layer < LAYERS; layer++) {
      const read = unescaped(plain)
      if (read === plain) break
      if (holdsSecret(read, secrets) || parts.some((part) => part.standIn(read))) return ''
      plain = read
    }
    return masked
  }
}

/** Finds in texts what nobody has guessed of a secret: so many characters of it in a row, wherever in it they stand. */
class SecretParts {
  /** What everybody knows of its beginning. */
  readonly #known: string
  /** Of what is behind that: all parts of the shortest length that is found. Empty where it is looked for as a whole alone. */
  readonly #parts: ReadonlySet<string>
  readonly #length: number
  readonly #first: string

  constructor(secret: string) {
    const known = guessableLength(secret)
    const threshold = thresholdOf(secret.length, known)
    this.#known = secret.slice(0, known)
    this.#length = threshold - known
    this.#first = secret.slice(known, threshold)
    const count = threshold < secret.length ? secret.length - threshold + 1 : 0
    this.#parts = new Set(Array.from({ length: count }, (_, at) => secret.slice(known + at, threshold + at)))
  }

  standIn(text: string): boolean {
    return this.#ranges(text).length > 0
  }

  replacedIn(text: string): string {
    let shown = ''
    let from = 0
    for (const [start, end] of this.#ranges(text)) {
      shown += `${text.slice(from, start)}***`
      from = end
    }
    return shown + text.slice(from)
  }

  /** Where they stand, in order; none overlaps another. */
  #ranges(text: string): [start: number, end: number][] {
    const ranges: [number, number][] = []
    if (this.#parts.size === 0) return ranges
    for (let at = 0; at + this.#length <= text.length; at++) {
      const part = text.slice(at, at + this.#length)
      if (!this.#parts.has(part)) continue
      const last = ranges.at(-1)
      if (last && at <= last[1]) last[1] = at + this.#length
      else ranges.push([part === this.#first ? this.#withKnown(text, at) : at, at + this.#length])
    }
    return ranges
  }

  /** Where it begins that is known, as far as it stands before the rest. */
  #withKnown(text: string, at: number): number {
    let length = 0
    while (length < this.#known.length && length < at && text[at - length - 1] === this.#known.at(-length - 1)) length++
    return at - length
  }
}

/** A key as many servers show it, all but a few characters at its ends replaced: `sk-ab****wxyz`. By its looks, so that it tells nothing of the key. */
const SHORTENED = /[\w-]+(?:\*{3,}|•{3,}|…|\.{3})[\w-]+/g
const SHORTENED_KEY = /[*•]|^(?:sk|pk|rk|key|gsk|xai)[-_]|^AIza/

function withoutShortened(text: string): string {
  return text.replaceAll(SHORTENED, (word) => (SHORTENED_KEY.test(word) ? '***' : word))
}

function unescaped(text: string): string {
  return text.replaceAll(ESCAPED, (whole, ...groups: unknown[]) => {
    const [long, short, url, hex, decimal, bare] = groups as (string | undefined)[]
    if (bare !== undefined) return bare
    const code = decimal === undefined ? Number.parseInt(long ?? short ?? url ?? hex ?? '', 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}
