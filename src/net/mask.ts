// Secrets that must not be read again in what is told of a request: found, and replaced, in each form in which they may
// come back.
import { domainToASCII } from 'node:url'
import { inDotNet, inUpperAscii, LABEL } from '../redaction/forms.ts'

const MASK = '***'
/** Shorter secrets are left alone in what a server answered: too much else looks like them. */
const SHORTEST = 8
/** So long are parts of a secret that are looked for alone. */
const SHORTEST_PART = 16
/** Fewer characters of base64 stand for anything. */
const SHORTEST_BASE64 = 4

/**
 * The characters of base64 (RFC 4648 §4, §5) that a secret alone decides, wherever it stands among other bytes, such as
 * those of a user's name before it (RFC 7617).
 */
function base64Forms(secret: string): string[] {
  const bytes = Buffer.from(secret)
  const forms = [0, 1, 2].flatMap((before) => {
    const all = Buffer.concat([Buffer.alloc(before), bytes])
    const [from, to] = [Math.ceil((before * 8) / 6), Math.floor((all.length * 8) / 6)]
    return (['base64', 'base64url'] as const).map((alphabet) => all.toString(alphabet).slice(from, to))
  })
  return forms.filter((form) => form.length >= SHORTEST_BASE64)
}

/** A secret as it is, as JSON writes it, as a URL does, and as base64; without white space around it, and with each kind of line ends as well. */
function formsOf(secret: string): string[] {
  const bare = secret.trim()
  if (bare.length < SHORTEST) return writtenForms(secret)
  const lines = bare.replaceAll('\r\n', '\n')
  const texts = new Set([secret, bare, lines, lines.replaceAll('\n', '\r\n')])
  return [...[...texts].flatMap(writtenForms), ...partsOf(bare)]
}

/** Its lines, without what all keys have, where it has several; of a URL what is sent and logged (WHATWG URL). */
function partsOf(secret: string): string[] {
  const lines = secret.includes('\n') ? secret.split('\n').map((line) => line.trim()) : []
  const url = /^[a-z][a-z0-9+.-]*:\/\//i.test(secret) ? URL.parse(secret) : null
  const sent = url ? [url.href, url.pathname, url.search] : []
  const telling = lines.filter((line) => !/^-----(?:BEGIN|END) [^-]*-----$/.test(line))
  return [...telling, ...sent].filter((part) => part.length >= SHORTEST_PART)
}

function writtenForms(secret: string): string[] {
  const json = JSON.stringify(secret).slice(1, -1)
  const ascii = json.replaceAll(/[^ -~]/g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`)
  const inUrl = encodeURIComponent(secret.toWellFormed())
  const urls = [inUrl, inUrl.replaceAll("'", '%27'), new URLSearchParams({ s: secret }).toString().slice(2)]
  const lower = urls.map((url) => url.replaceAll(/%../g, (code) => code.toLowerCase()))
  const slashed = [json, ascii].map((text) => text.replaceAll('/', '\\/'))
  const numbered = [inUpperAscii(secret), inDotNet(secret)]
  return [secret, json, ascii, ...numbered, ...slashed, ...urls, ...lower, ...base64Forms(secret), ...hostForms(secret)]
}

/** As host names come back: in lower case, and in ASCII (RFC 5891). */
function hostForms(secret: string): string[] {
  if (secret.length < SHORTEST) return []
  const label = LABEL.test(secret) ? domainToASCII(secret) : ''
  return label === '' ? [secret.toLowerCase()] : [secret.toLowerCase(), label]
}

/** All forms of all secrets, the longest first, so that none is replaced in part. */
function allForms(secrets: readonly string[]): string[] {
  const forms = new Set(secrets.flatMap(formsOf))
  forms.delete('')
  return [...forms].sort((a, b) => b.length - a.length)
}

export type Mask = (text: string) => string

function maskOf(forms: readonly string[]): Mask {
  if (forms.length === 0) return (text) => text
  // The earlier of two alternatives counts. In texts of any length one pass is faster than one for each form.
  const any = new RegExp(forms.map((form) => form.replaceAll(/[$()*+.?[\\\]^{|}]/g, '\\$&')).join('|'), 'g')
  return (text) => text.replace(any, MASK)
}

/** For what is shown of a request in a message: every secret is replaced, however short. */
export function strictMask(secrets: readonly string[]): Mask {
  return maskOf(allForms(secrets))
}

/** Each byte as one character, so that text can be found among bytes that are none. */
function latin1(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1')
}

/** Whether a text, or bytes, hold any of the secrets in one of their forms. */
export function holdsSecret(content: string | Uint8Array, secrets: readonly string[]): boolean {
  if (secrets.length === 0) return false
  const bytes = latin1(Buffer.from(content))
  return allForms(secrets).some((form) => bytes.includes(latin1(Buffer.from(form))))
}

/** Secrets in what a server answered, each replaced that has 8 characters or more. */
export interface AnswerMask {
  readonly text: Mask
  /** The number, or a text in its place. */
  number(value: number): number | string
  bytes(value: Uint8Array): Uint8Array
}

export function answerMask(secrets: readonly string[]): AnswerMask {
  const long = secrets.filter((secret) => secret.length >= SHORTEST)
  const forms = allForms(long)
  const text = maskOf(forms)
  const inBytes = maskOf(forms.map((form) => latin1(Buffer.from(form))))
  // A number of more digits than it can hold comes back rounded, and still tells most of them.
  const numeric = maskOf(forms.filter((form) => /^[\d.e+-]+$/.test(form)))
  const numbers = new Set(long.map(Number).filter((number) => Number.isFinite(number) && number !== 0))
  return {
    text,
    number: (value) => {
      if (numbers.size === 0) return value
      const written = String(value)
      const masked = numbers.has(value) ? MASK : numeric(written)
      return masked === written ? value : masked
    },
    bytes: (value) => (forms.length === 0 ? value : Buffer.from(inBytes(latin1(value)), 'latin1')),
  }
}
