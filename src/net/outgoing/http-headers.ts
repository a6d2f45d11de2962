// Validates the headers of requests, and parses the headers of answers.
import { NodeError } from '../../engine/node-api/node-error.ts'
import { truncateText } from '../../shared/text-truncation.ts'

/** Values by name in lower case. */
export type HttpHeaders = Map<string, string>

const MAX_HEADERS = 100
const MAX_HEADER_CHARACTERS = 65_536
/** A token of RFC 9110 §5.6.2. */
const NAME_PATTERN = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** A field value of RFC 9110 §5.5: it has no line breaks and only characters of one byte. */
const VALUE_PATTERN = /^[\t\x20-\x7e\x80-\xff]*$/
const MAX_SHOWN_NAME = 60

/** Headers that describe the connection or follow from the request: RFC 9110 §7.6.1, §8.6, RFC 9112 §6. */
const CONNECTION_HEADERS: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'keep-alive',
  'proxy-authenticate',
  'proxy-authorization',
  'proxy-connection',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
])

function headerError(name: string, text: string): NodeError {
  const shown = truncateText(name, MAX_SHOWN_NAME)
  return new NodeError(`The header ${JSON.stringify(shown)} ${text}`, 'bad_header')
}

/** @throws NodeError `bad_header` where a header may not be sent */
export function validateHeaders(given: Readonly<Record<string, string>>): HttpHeaders {
  const headers: HttpHeaders = new Map()
  let characters = 0
  for (const [name, value] of Object.entries(given)) {
    const key = name.toLowerCase()
    if (!NAME_PATTERN.test(name)) throw headerError(name, 'has an invalid name. Use letters, digits and "-".')
    if (CONNECTION_HEADERS.has(key)) throw headerError(name, 'is set by the connection itself. Leave it out.')
    if (headers.has(key)) throw headerError(name, 'is given twice. Header names do not distinguish case.')
    if (!VALUE_PATTERN.test(value))
      throw headerError(name, 'has a line break or an invalid character in its value. Remove it.')
    characters += name.length + value.length
    headers.set(key, value)
  }
  if (headers.size <= MAX_HEADERS && characters <= MAX_HEADER_CHARACTERS) return headers
  const limits = `${MAX_HEADERS} headers with ${MAX_HEADER_CHARACTERS.toLocaleString('en')} characters together`
  throw new NodeError(`A request has at most ${limits}.`, 'bad_header')
}

/**
 * Parses raw headers, which alternate names and values, into one value by name in lower case. Values of one name are joined by ", ". Values
 * of Set-Cookie are joined by a line break, because they hold commas.
 */
export function parseRawHeaders(raw: readonly string[]): HttpHeaders {
  const headers: HttpHeaders = new Map()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase()
    const before = headers.get(name)
    const value = raw[at + 1]!
    headers.set(name, before === undefined ? value : `${before}${name === 'set-cookie' ? '\n' : ', '}${value}`)
  }
  return headers
}
