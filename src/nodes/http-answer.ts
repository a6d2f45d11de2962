// What a server answered, as a node hands it on: read by its content type, within the limits of what nodes give, and without
// the secrets that were sent. Reading follows from the answer alone, so that a large one may be read apart from the main thread.
import { NodeError } from '../engine/node-error.ts'
import type { Inputs, NodeContext } from '../engine/node-type.ts'
import type { IncomingResponse } from '../engine/services.ts'
import { type AnswerMask, answerMask, type Mask, maskSteps } from '../net/mask.ts'
import { guardJsonText } from './json-size.ts'
import { httpLibrary } from './libraries.ts'
import { guardDepth, guardInside, guardText, LONGEST_TEXT } from './limits.ts'

/** An answer, and the secrets in the request that it answers. */
export interface Answer {
  readonly response: IncomingResponse
  readonly secrets: readonly string[]
}

type Reader = (response: IncomingResponse, mask: AnswerMask) => unknown

const JSON_TYPE = /^[\w.-]{1,100}\/([\w.-]{1,100}\+)?json$/
const TEXT_TYPE = /^text\/|[/+](xml|yaml|x-yaml|javascript|x-ndjson|ndjson|jsonl|x-www-form-urlencoded|graphql|toml)$/
const CHARSET = /;\s{0,8}charset\s{0,8}=\s{0,8}"?([\w.:-]{1,40})/i
/** How many bytes of a failure are looked at, and how many of its characters are shown. */
const EXCERPT_BYTES = 65_536
const EXCERPT = 200
/** Of longer JSON not even the text is made, and of longer text, which in any charset has more characters than a node gives. */
const MOST_JSON_BYTES = 10_000_000
const MOST_TEXT_BYTES = 4 * LONGEST_TEXT

function mediaType(response: IncomingResponse): string {
  const [type] = (response.headers['content-type'] ?? '').split(';', 1)
  return type!.trim().toLowerCase()
}

/** Bytes as text, by the charset that the answer names. */
function decoded(response: IncomingResponse, bytes = response.body): string {
  const [, charset = 'utf-8'] = CHARSET.exec(response.headers['content-type'] ?? '') ?? []
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** A value with every text and number in it masked, its keys included; no text may be longer than a node gives. */
function masked(value: unknown, mask: AnswerMask): unknown {
  if (typeof value === 'string') {
    guardText(value.length)
    return mask.text(value)
  }
  if (typeof value === 'number') return mask.number(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => masked(one, mask))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [mask.text(key), masked(one, mask)]))
}

function parsed(text: string): unknown {
  guardJsonText(text)
  try {
    return JSON.parse(text)
  } catch {
    const cure = 'Set response_type to "text" to get it as it is.'
    throw new NodeError(`The answer is no JSON, although it should be. ${cure}`, 'not_json')
  }
}

function guardBytes(length: number, most: number, what: string): void {
  if (length <= most) return
  const text = `The answer has more than ${most.toLocaleString('en')} bytes of ${what}, the most that is read.`
  throw new NodeError(`${text} Ask for less of it, page by page if the server can.`, 'too_large')
}

/** Throws NodeError `too_large` where reading a body could only end so. */
const GUARDS = {
  json: (length) => guardBytes(length, MOST_JSON_BYTES, 'JSON'),
  text: (length) => guardBytes(length, MOST_TEXT_BYTES, 'text'),
  base64: (length) => guardText(Math.ceil(length / 3) * 4),
} satisfies Record<string, (length: number) => void>

const READERS = {
  json: (response, mask) => {
    if (response.body.length === 0) return null
    const value = parsed(decoded(response))
    guardDepth(value)
    guardInside(value)
    return masked(value, mask)
  },
  text: (response, mask) => {
    const text = decoded(response)
    guardText(text.length)
    return mask.text(text)
  },
  base64: (response, mask) => Buffer.from(mask.bytes(response.body)).toString('base64'),
} satisfies Record<string, Reader>

export type ResponseType = 'auto' | keyof typeof READERS

export const RESPONSE_TYPES: readonly ResponseType[] = ['auto', 'json', 'text', 'base64']

function kindOfAnswer(response: IncomingResponse): keyof typeof READERS {
  const type = mediaType(response)
  if (JSON_TYPE.test(type)) return 'json'
  return TEXT_TYPE.test(type) ? 'text' : 'base64'
}

/** All that it takes to read an answer. */
export interface UnreadAnswer extends Answer, Inputs {
  readonly kind: keyof typeof READERS
}

/** An answer that is to be read by the type asked for. @throws NodeError `too_large` where it is too large for that */
export function unread(answer: Answer, type: ResponseType): UnreadAnswer {
  const kind = type === 'auto' ? kindOfAnswer(answer.response) : type
  GUARDS[kind](answer.response.body.length)
  return { ...answer, kind }
}

/** Nanoseconds for each byte of a body: of JSON, of what is masked, and of text in the slowest charset. */
const COSTS = { json: 100, text: 40, base64: 2 }
const MASKED = 100
/** Nanoseconds for each character of a secret, all forms of which are written before any is looked for. */
const SECRET = 5_000

export function costOfAnswer({ response, secrets, kind }: UnreadAnswer): number {
  const characters = secrets.reduce((sum, { length }) => sum + length, 0)
  return response.body.length * (COSTS[kind] + (secrets.length > 0 ? MASKED : 0)) + characters * SECRET
}

/**
 * The status, the headers, and the body as what it is read. JSON that is empty is null.
 * @throws NodeError `not_json`; `too_large` and `too_deep` where it is more than a node gives
 */
export function readAnswer({ response, secrets, kind }: UnreadAnswer) {
  const mask = answerMask(secrets)
  const headers = Object.entries(response.headers).map(([name, value]) => [mask.text(name), mask.text(value)] as const)
  return { status: response.status, headers: Object.fromEntries(headers), body: READERS[kind](response, mask) }
}

function excerpt(response: IncomingResponse, mask: Mask): string {
  if (kindOfAnswer(response) === 'base64') return ''
  const text = mask(decoded(response, response.body.subarray(0, EXCERPT_BYTES)))
  const line = text.slice(0, EXCERPT_BYTES / 2).replaceAll(/[\s\p{Cc}]+/gu, ' ')
  const start = line.trim().slice(0, EXCERPT).toWellFormed()
  return start === '' ? '' : `: ${start}${line.length > EXCERPT ? '…' : ''}`
}

/** Throws NodeError `http_status` where the status says that the request failed: from 400 on. */
export async function guardStatus(answer: Answer, context: NodeContext): Promise<void> {
  const { status, url } = answer.response
  if (status < 400) return
  const mask = await context.inSlices(maskSteps(answer.secrets))
  const host = mask(new URL(url).host).slice(0, 80)
  const name = httpLibrary().STATUS_CODES[status]
  throw new NodeError(
    `"${host}" answered ${status}${name ? ` ${name}` : ''}${excerpt(answer.response, mask)}`,
    'http_status',
  )
}
