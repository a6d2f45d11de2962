// What a server says, in words that hold nothing of the key that it was asked with, however they write it.
import { secretSearch, strictMask } from '../net/mask.ts'
import { guessableLength, thresholdOf } from '../redaction/threshold.ts'

/** Of texts within texts, as errors of servers that ask others. */
const LAYERS = 4
/** Of a text so many characters are looked at: the key is looked for in all of them, in several ways, and nobody is shown more. */
const LOOKED_AT = 65_536
/** So many characters of a secret in a row nobody guesses, whichever they are: no threshold of what is unknown of it is higher. */
const PART = 16
/** `\u0073`, `\x73`, `%73`, `&#115;`, `&#x73;`, and a character that needs no escape. */
const ESCAPED = /\\u\{?([0-9a-f]{1,6})\}?|\\x([0-9a-f]{2})|%([0-9a-f]{2})|&#x([0-9a-f]{1,6});|&#(\d{1,7});|\\(.)/gi

/** Masks a text that was read: `***` where the key stands, and nothing at all where it can only be found by reading on. Gives no more than the first 65,536 characters. */
export function safeWords(credential: string | null): (text: string) => string {
  const secrets = credential === null ? [] : [...new Set([credential, credential.trim()])].filter((one) => one !== '')
  if (secrets.length === 0) return (text) => text.slice(0, LOOKED_AT)
  const mask = strictMask(secrets)
  const holdsSecret = secretSearch(secrets)
  const parts = secrets.map((secret) => new SecretParts(secret))
  return (text) => {
    const looked_at = text.slice(0, LOOKED_AT)
    const masked = withoutShortened(parts.reduce((left, part) => part.replacedIn(left), mask(looked_at)))
    let plain = masked
    for (let layer = 0; layer < LAYERS; layer++) {
      const read = unescaped(plain)
      if (read === plain) break
      if (holdsSecret(read) || parts.some((part) => part.standIn(read))) return ''
      plain = read
    }
    return masked
  }
}

/** Finds in texts what nobody has guessed of a secret: its beginning from the threshold on, and so many characters in a row wherever in it they stand. */
class SecretParts {
  readonly #secret: string
  readonly #beginning: string
  /** Of what nobody knows by its kind: all parts of one length. */
  readonly #parts: ReadonlySet<string>

  constructor(secret: string) {
    const known = guessableLength(secret)
    this.#secret = secret
    this.#beginning = secret.slice(0, thresholdOf(secret.length, known))
    const count = Math.max(0, secret.length - known - PART + 1)
    this.#parts = new Set(Array.from({ length: count }, (_, at) => secret.slice(known + at, known + at + PART)))
  }

  /** Whether one that is not the beginning stands in a text. */
  standIn(text: string): boolean {
    for (let at = 0; at + PART <= text.length; at++) if (this.#parts.has(text.slice(at, at + PART))) return true
    return false
  }

  replacedIn(text: string): string {
    let shown = ''
    let from = 0
    for (let at = 0; at < text.length; at++) {
      const end = this.#endAt(text, at)
      if (end === at) continue
      shown += `${text.slice(from, at)}***`
      from = end
      at = end - 1
    }
    return shown + text.slice(from)
  }

  /** Where what begins at a place ends; the place itself where nothing does. */
  #endAt(text: string, at: number): number {
    if (text.startsWith(this.#beginning, at)) return at + sharedLength(text.slice(at), this.#secret)
    let end = at
    for (let next = at; this.#parts.has(text.slice(next, next + PART)); next++) end = next + PART
    return end
  }
}

/** How many characters at their beginnings are the same. */
function sharedLength(text: string, other: string): number {
  let length = 0
  while (length < other.length && text[length] === other[length]) length++
  return length
}

/**
 * A key as many servers show it, all but a few characters at its ends replaced: `sk-ab****wxyz`. By its looks, so that it tells nothing of the key.
 * It begins where a word does: looked for from each letter on, a word of a megabyte would take minutes.
 */
const SHORTENED = /(?<![\w-])[\w-]+(?:\*{3,}|•{3,}|…|\.{3})[\w-]+/g
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
