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
  return (text) => {
    const masked = secrets.reduce(withoutBeginning, mask(text))
    let plain = masked
    for (let layer = 0; layer < LAYERS; layer++) {
      const read = unescaped(plain)
      if (read === plain) break
      if (holdsSecret(read, secrets)) return ''
      plain = read
    }
    return masked
  }
}

/** `***` wherever so much of a secret begins that nobody has guessed it, as far as it goes on: some servers show all but its end. */
function withoutBeginning(text: string, secret: string): string {
  const threshold = thresholdOf(secret.length, guessableLength(secret))
  if (threshold >= secret.length) return text
  const pieces = text.split(secret.slice(0, threshold))
  const behind = pieces.slice(1).map((piece) => `***${piece.slice(sharedLength(piece, secret.slice(threshold)))}`)
  return pieces[0]! + behind.join('')
}

/** How many characters at their beginnings are the same. */
function sharedLength(text: string, other: string): number {
  let length = 0
  while (length < other.length && text[length] === other[length]) length++
  return length
}

function unescaped(text: string): string {
  return text.replaceAll(ESCAPED, (whole, ...groups: unknown[]) => {
    const [long, short, url, hex, decimal, bare] = groups as (string | undefined)[]
    if (bare !== undefined) return bare
    const code = decimal === undefined ? Number.parseInt(long ?? short ?? url ?? hex ?? '', 16) : Number(decimal)
    return code <= 0x10ffff ? String.fromCodePoint(code) : whole
  })
}
