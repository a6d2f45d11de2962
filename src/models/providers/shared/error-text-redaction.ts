// What a server says, in words that hold nothing of the key that it was asked with, however they write it.
import { createSecretSearch, createStrictMask } from '../../../net/secret-mask.ts'
import { computeThreshold, measureGuessable } from '../../../redaction/matching/guess-threshold.ts'

/** Of texts within texts, as errors of servers that ask others. */
const MAX_ESCAPE_LAYERS = 4
/** Of a text so many characters are looked at: the key is looked for in all of them, in several ways, and nobody is shown more. */
const MAX_REDACTED_LENGTH = 65_536
/** So many characters of a secret in a row nobody guesses, whichever they are: no threshold of what is unknown of it is higher. */
const FRAGMENT_LENGTH = 16
/** `\u0073`, `\x73`, `%73`, `&#115;`, `&#x73;`, and a character that needs no escape. */
const ESCAPE_SEQUENCE =
  /\\u\{?([0-9a-f]{1,6})\}?|\\x([0-9a-f]{2})|%([0-9a-f]{2})|&#x([0-9a-f]{1,6});|&#(\d{1,7});|\\(.)/gi

/** Masks a text that was read: `***` where the key stands, and nothing at all where it can only be found by reading on. Gives no more than the first 65,536 characters. */
export function createErrorTextRedactor(credential: string | null): (text: string) => string {
  const secrets = credential === null ? [] : [...new Set([credential, credential.trim()])].filter((one) => one !== '')
  if (secrets.length === 0) return (text) => text.slice(0, MAX_REDACTED_LENGTH)
  const mask = createStrictMask(secrets)
  const hasSecret = createSecretSearch(secrets)
  const fragments = secrets.map((secret) => new SecretFragments(secret))
  return (text) => {
    const shortened = text.slice(0, MAX_REDACTED_LENGTH)
    const masked = redactShortenedKeys(fragments.reduce((left, part) => part.redactIn(left), mask(shortened)))
    let unescapedText = masked
    for (let layer = 0; layer < MAX_ESCAPE_LAYERS; layer++) {
      const read = unescapeText(unescapedText)
      if (read === unescapedText) break
      if (hasSecret(read) || fragments.some((part) => part.areIn(read))) return ''
      unescapedText = read
    }
    return masked
  }
}

/** Finds in texts what nobody has guessed of a secret: its beginning from the threshold on, and so many characters in a row wherever in it they stand. */
class SecretFragments {
  readonly #secret: string
  readonly #beginning: string
  /** Of what nobody knows by its kind: all parts of one length. */
  readonly #fragments: ReadonlySet<string>

  constructor(secret: string) {
    const known = measureGuessable(secret)
    this.#secret = secret
    this.#beginning = secret.slice(0, computeThreshold(secret.length, known))
    const count = Math.max(0, secret.length - known - FRAGMENT_LENGTH + 1)
    this.#fragments = new Set(
      Array.from({ length: count }, (_, at) => secret.slice(known + at, known + at + FRAGMENT_LENGTH)),
    )
  }

  /** Whether one that is not the beginning stands in a text. */
  areIn(text: string): boolean {
    for (let at = 0; at + FRAGMENT_LENGTH <= text.length; at++)
      if (this.#fragments.has(text.slice(at, at + FRAGMENT_LENGTH))) return true
    return false
  }

  redactIn(text: string): string {
    let shown = ''
    let from = 0
    for (let at = 0; at < text.length; at++) {
      const end = this.#findEnd(text, at)
      if (end === at) continue
      shown += `${text.slice(from, at)}***`
      from = end
      at = end - 1
    }
    return shown + text.slice(from)
  }

  /** Where what begins at a place ends; the place itself where nothing does. */
  #findEnd(text: string, at: number): number {
    if (text.startsWith(this.#beginning, at)) return at + commonPrefixLength(text.slice(at), this.#secret)
    let end = at
    for (let next = at; this.#fragments.has(text.slice(next, next + FRAGMENT_LENGTH)); next++)
      end = next + FRAGMENT_LENGTH
    return end
  }
}

/** How many characters at their beginnings are the same. */
function commonPrefixLength(text: string, other: string): number {
  let length = 0
  while (length < other.length && text[length] === other[length]) length++
  return length
}

/**
 * A key as many servers show it, all but a few characters at its ends replaced: `sk-ab****wxyz`. By its looks, so that it tells nothing of the key.
 * It begins where a word does: looked for from each letter on, a word of a megabyte would take minutes.
 */
const SHORTENED_WORD = /(?<![\w-])[\w-]+(?:\*{3,}|•{3,}|…|\.{3})[\w-]+/g
const SHORTENED_KEY = /[*•]|^(?:sk|pk|rk|key|gsk|xai)[-_]|^AIza/

function redactShortenedKeys(text: string): string {
  return text.replaceAll(SHORTENED_WORD, (word) => (SHORTENED_KEY.test(word) ? '***' : word))
}

function unescapeText(text: string): string {
  return text.replaceAll(ESCAPE_SEQUENCE, (whole, ...groups: unknown[]) => {
    const [long, short, url, hex, decimal, bare] = groups as (string | undefined)[]
    if (bare !== undefined) return bare
    const code = decimal === undefined ? Number.parseInt(long ?? short ?? url ?? hex ?? '', 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}
