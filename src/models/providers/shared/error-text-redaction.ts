// Redacts the credential in error texts of servers, in any escaped form.
import { createSecretSearch, createStrictMask } from '../../../net/secret-mask.ts'
import { computeThreshold, measureGuessable } from '../../../redaction/matching/guess-threshold.ts'

/** Texts may be escaped several times, as in errors that one server passes on from another. */
const MAX_ESCAPE_LAYERS = 4
/** Longer texts are cut: the key is searched in all characters in several ways, and fewer are ever shown. */
const MAX_REDACTED_LENGTH = 65_536
/** A fragment of this many characters of a secret cannot be guessed: no guess threshold is higher. */
const FRAGMENT_LENGTH = 16
/** `\u0073`, `\x73`, `%73`, `&#115;`, `&#x73;`, and a character with a needless escape. */
const ESCAPE_SEQUENCE =
  /\\u\{?([0-9a-f]{1,6})\}?|\\x([0-9a-f]{2})|%([0-9a-f]{2})|&#x([0-9a-f]{1,6});|&#(\d{1,7});|\\(.)/gi

/** Gives `***` in place of the key, and an empty text where the key appears only after unescaping. Keeps the first 65,536 characters. */
export function createErrorTextRedactor(credential: string | null): (text: string) => string {
  const secrets = credential === null ? [] : [...new Set([credential, credential.trim()])].filter((one) => one !== '')
  if (secrets.length === 0) return (text) => text.slice(0, MAX_REDACTED_LENGTH)
  const mask = createStrictMask(secrets)
  const hasSecret = createSecretSearch(secrets)
  const fragments = secrets.map((secret) => new SecretFragments(secret))
  return (text) => {
    const shortened = text.slice(0, MAX_REDACTED_LENGTH)
    const masked = redactShortenedKeys(
      fragments.reduce((partial, fragment) => fragment.redactIn(partial), mask(shortened)),
    )
    let unescapedText = masked
    for (let layer = 0; layer < MAX_ESCAPE_LAYERS; layer++) {
      const unescaped = unescapeText(unescapedText)
      if (unescaped === unescapedText) break
      if (hasSecret(unescaped) || fragments.some((fragment) => fragment.areIn(unescaped))) return ''
      unescapedText = unescaped
    }
    return masked
  }
}

/** Finds parts of a secret that cannot be guessed: its beginning from the threshold on, and fragments of FRAGMENT_LENGTH at any position. */
class SecretFragments {
  readonly #secret: string
  readonly #beginning: string
  /** All fragments of one length, without the part that the kind of the secret makes known. */
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

  /** Whether a text contains a fragment, apart from the beginning. */
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

  /** The end of a secret part that begins at `at`; `at` itself where none begins. */
  #findEnd(text: string, at: number): number {
    if (text.startsWith(this.#beginning, at)) return at + commonPrefixLength(text.slice(at), this.#secret)
    let end = at
    for (let next = at; this.#fragments.has(text.slice(next, next + FRAGMENT_LENGTH)); next++)
      end = next + FRAGMENT_LENGTH
    return end
  }
}

function commonPrefixLength(text: string, other: string): number {
  let length = 0
  while (length < other.length && text[length] === other[length]) length++
  return length
}

/**
 * A key that a server has shortened itself: `sk-ab****wxyz`. It is recognized by its form alone, so that redaction reveals nothing about the key.
 * A match begins at the start of a word: from each letter on, the search in a word of a megabyte would take minutes.
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
