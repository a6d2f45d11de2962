// Reads a response for a node: by its content type, within output limits, and without the secrets that were sent. Reading depends on the
// response alone, so that a worker can read a large one.

import type { InputValues } from '../../engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { IncomingResponse } from '../../engine/node-api/services/outgoing-http.ts'
import { createResponseMask, createStrictMaskSteps, type ResponseMask, type SecretMask } from '../../net/secret-mask.ts'
import { guardJsonText } from '../shared/json-size.ts'
import { httpLibrary } from '../shared/lazy-libraries.ts'
import { guardDepth, guardInnerLists, guardTextLength, LONGEST_TEXT } from '../shared/value-limits.ts'

/** A response, and the secrets in its request. */
export interface ReceivedResponse {
  readonly response: IncomingResponse
  readonly secrets: readonly string[]
}

type BodyReader = (response: IncomingResponse, mask: ResponseMask) => unknown

const JSON_TYPE = /^[\w.-]{1,100}\/([\w.-]{1,100}\+)?json$/
const TEXT_TYPE = /^text\/|[/+](xml|yaml|x-yaml|javascript|x-ndjson|ndjson|jsonl|x-www-form-urlencoded|graphql|toml)$/
const CHARSET = /;\s{0,8}charset\s{0,8}=\s{0,8}"?([\w.:-]{1,40})/i
/** Bytes of an error body that are read, and characters of it that are shown. */
const EXCERPT_BYTES = 65_536
const EXCERPT_CHARACTERS = 200
/** Longer JSON is not decoded. Longer text has more characters than a node may give, in any charset. */
const MOST_JSON_BYTES = 10_000_000
const MOST_TEXT_BYTES = 4 * LONGEST_TEXT

function mediaType(response: IncomingResponse): string {
  const [type] = (response.headers['content-type'] ?? '').split(';', 1)
  return type!.trim().toLowerCase()
}

/** Decodes bytes with the charset that the response names. */
function decodeText(response: IncomingResponse, bytes = response.body): string {
  const [, charset = 'utf-8'] = CHARSET.exec(response.headers['content-type'] ?? '') ?? []
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** Masks every text and number in a value, including keys. Texts that are longer than a node may give throw an error. */
function maskValue(value: unknown, mask: ResponseMask): unknown {
  if (typeof value === 'string') {
    guardTextLength(value.length)
    return mask.text(value)
  }
  if (typeof value === 'number') return mask.number(value)
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map((one) => maskValue(one, mask))
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [mask.text(key), maskValue(one, mask)]))
}

function parseJson(text: string): unknown {
  guardJsonText(text)
  try {
    return JSON.parse(text)
  } catch {
    const cure = 'Set response_type to "text" to get it unchanged.'
    throw new NodeError(`The answer is not valid JSON. ${cure}`, 'not_json')
  }
}

function guardBodyLength(length: number, most: number, what: string): void {
  if (length <= most) return
  const text = `The answer has more than ${most.toLocaleString('en')} bytes of ${what}, the most that is read.`
  throw new NodeError(`${text} Request less, or page by page if the server supports that.`, 'too_large')
}

/** Throws NodeError `too_large` if a body is too long for its kind. */
const SIZE_GUARDS = {
  json: (length) => guardBodyLength(length, MOST_JSON_BYTES, 'JSON'),
  text: (length) => guardBodyLength(length, MOST_TEXT_BYTES, 'text'),
  base64: (length) => guardTextLength(Math.ceil(length / 3) * 4),
} satisfies Record<string, (length: number) => void>

const BODY_READERS = {
  json: (response, mask) => {
    if (response.body.length === 0) return null
    const value = parseJson(decodeText(response))
    guardDepth(value)
    guardInnerLists(value)
    return maskValue(value, mask)
  },
  text: (response, mask) => {
    const text = decodeText(response)
    guardTextLength(text.length)
    return mask.text(text)
  },
  base64: (response, mask) => Buffer.from(mask.bytes(response.body)).toString('base64'),
} satisfies Record<string, BodyReader>

export type ResponseType = 'auto' | keyof typeof BODY_READERS

export const RESPONSE_TYPES: readonly ResponseType[] = ['auto', 'json', 'text', 'base64']

function detectBodyKind(response: IncomingResponse): keyof typeof BODY_READERS {
  const type = mediaType(response)
  if (JSON_TYPE.test(type)) return 'json'
  return TEXT_TYPE.test(type) ? 'text' : 'base64'
}

/** A response with all that is needed to read it. */
export interface UnreadResponse extends ReceivedResponse, InputValues {
  readonly kind: keyof typeof BODY_READERS
}

/** Prepares a response for the requested type. @throws NodeError `too_large` if it is too large for that type */
export function prepareResponse(answer: ReceivedResponse, type: ResponseType): UnreadResponse {
  const kind = type === 'auto' ? detectBodyKind(answer.response) : type
  SIZE_GUARDS[kind](answer.response.body.length)
  return { ...answer, kind }
}

/** Nanoseconds per byte of a body: for JSON, for masking, and for text in the slowest charset. */
const BYTE_COSTS = { json: 100, text: 40, base64: 2 }
const MASKED_BYTE_COST = 100
/** Nanoseconds per character of a secret: all forms of a secret are written before the search. */
const SECRET_CHARACTER_COST = 5_000

export function costOfResponse({ response, secrets, kind }: UnreadResponse): number {
  const characters = secrets.reduce((sum, { length }) => sum + length, 0)
  return (
    response.body.length * (BYTE_COSTS[kind] + (secrets.length > 0 ? MASKED_BYTE_COST : 0)) +
    characters * SECRET_CHARACTER_COST
  )
}

/**
 * The status, the headers, and the decoded body. An empty JSON body is null. @throws NodeError `not_json`; `too_large` and `too_deep` if
 * the value is more than a node may give
 */
export function readResponse({ response, secrets, kind }: UnreadResponse) {
  const mask = createResponseMask(secrets)
  const headers = Object.entries(response.headers).map(([name, value]) => [mask.text(name), mask.text(value)] as const)
  return { status: response.status, headers: Object.fromEntries(headers), body: BODY_READERS[kind](response, mask) }
}

function excerptBody(response: IncomingResponse, mask: SecretMask): string {
  if (detectBodyKind(response) === 'base64') return ''
  const text = mask(decodeText(response, response.body.subarray(0, EXCERPT_BYTES)))
  const line = text.slice(0, EXCERPT_BYTES / 2).replaceAll(/[\s\p{Cc}]+/gu, ' ')
  const start = line.trim().slice(0, EXCERPT_CHARACTERS).toWellFormed()
  return start === '' ? '' : `: ${start}${line.length > EXCERPT_CHARACTERS ? '…' : ''}`
}

/** Throws NodeError `http_status` for a status of 400 or more. */
export async function guardSuccessStatus(answer: ReceivedResponse, context: NodeContext): Promise<void> {
  const { status, url } = answer.response
  if (status < 400) return
  const mask = await context.inSlices(createStrictMaskSteps(answer.secrets))
  const host = mask(new URL(url).host).slice(0, 80)
  const name = httpLibrary().STATUS_CODES[status]
  throw new NodeError(
    `"${host}" answered ${status}${name ? ` ${name}` : ''}${excerptBody(answer.response, mask)}`,
    'http_status',
  )
}
