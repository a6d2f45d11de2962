// The headers of requests and answers: what may be sent, and how what came is written down.
import { NodeError } from '../engine/node-error.ts'

/** By name in lower case. */
export type Headers = Map<string, string>

const MOST_HEADERS = 100
const MOST_CHARACTERS = 65_536
/** A token of RFC 9110 §5.6.2. */
const NAME = /^[!#$%&'*+\-.^_`|~0-9A-Za-z]+$/
/** A field value of RFC 9110 §5.5: no line breaks, nothing that one byte can't hold. */
const VALUE = /^[\t\x20-\x7e\x80-\xff]*$/
const SHOWN = 60

/** Headers that belong to the connection or follow from the request: RFC 9110 §7.6.1, §8.6, RFC 9112 §6. */
const OWN: ReadonlySet<string> = new Set([
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

function bad(name: string, text: string): NodeError {
  const shown = name.length <= SHOWN ? name : `${name.slice(0, SHOWN)}…`
  return new NodeError(`The header ${JSON.stringify(shown)} ${text}`, 'bad_header')
}

/** Throws NodeError `bad_header` where a header may not be sent. */
export function checkedHeaders(given: Readonly<Record<string, string>>): Headers {
  const headers: Headers = new Map()
  let characters = 0
  for (const [name, value] of Object.entries(given)) {
    const key = name.toLowerCase()
    if (!NAME.test(name)) throw bad(name, 'has a name that no header can have: use letters, digits and "-".')
    if (OWN.has(key)) throw bad(name, 'is set by the connection itself. Leave it out.')
    if (headers.has(key)) throw bad(name, 'is given twice. Names that differ in case alone are the same.')
    if (!VALUE.test(value)) throw bad(name, 'has a line break in its value, or a character that headers cannot carry.')
    characters += name.length + value.length
    headers.set(key, value)
  }
  if (headers.size <= MOST_HEADERS && characters <= MOST_CHARACTERS) return headers
  const limits = `${MOST_HEADERS} headers with ${MOST_CHARACTERS.toLocaleString('en')} characters together`
  throw new NodeError(`A request has at most ${limits}.`, 'bad_header')
}

/**
 * What came, names and values in turn, as one value by name in lower case. Values of one name are joined by ", ", those
 * of Set-Cookie by a line break, because they hold commas.
 */
export function receivedHeaders(raw: readonly string[]): Headers {
  const headers: Headers = new Map()
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const name = raw[at]!.toLowerCase()
    const before = headers.get(name)
    const value = raw[at + 1]!
    headers.set(name, before === undefined ? value : `${before}${name === 'set-cookie' ? '\n' : ', '}${value}`)
  }
  return headers
}
