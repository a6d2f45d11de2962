// What a server answered, as a node hands it on: read by its content type, within the limits of what nodes give, and without
// the secrets that were sent. Reading follows from the answer alone, so that a large one may be read apart from the main thread.
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { IncomingResponse } from '../../engine/node-api/node-services.ts'
import type { InputValues, NodeContext } from '../../engine/node-api/node-type.ts'
import { createResponseMask, createStrictMaskSteps, type ResponseMask, type SecretMask } from '../../net/secret-mask.ts'
import { guardJsonText } from '../shared/json-size.ts'
import { httpLibrary } from '../shared/lazy-libraries.ts'
import { guardDepth, guardInnerLists, guardTextLength, LONGEST_TEXT } from '../shared/value-limits.ts'

/** An answer, and the secrets in the request that it answers. */
export interface ReceivedResponse {
  readonly response: IncomingResponse
  readonly secrets: readonly string[]
}

type BodyReader = (response: IncomingResponse, mask: ResponseMask) => unknown

const JSON_TYPE = /^[\w.-]{1,100}\/([\w.-]{1,100}\+)?json$/
const TEXT_TYPE = /^text\/|[/+](xml|yaml|x-yaml|javascript|x-ndjson|ndjson|jsonl|x-www-form-urlencoded|graphql|toml)$/
const CHARSET = /;\s{0,8}charset\s{0,8}=\s{0,8}"?([\w.:-]{1,40})/i
/** How many bytes of a failure are looked at, and how many of its characters are shown. */
const EXCERPT_BYTES = 65_536
const EXCERPT_CHARACTERS = 200
/** Of longer JSON not even the text is made, and of longer text, which in any charset has more characters than a node gives. */
const MOST_JSON_BYTES = 10_000_000
const MOST_TEXT_BYTES = 4 * LONGEST_TEXT

function mediaType(response: IncomingResponse): string {
  const [type] = (response.headers['content-type'] ?? '').split(';', 1)
  return type!.trim().toLowerCase()
}

/** Bytes as text, by the charset that the answer names. */
function decodeText(response: IncomingResponse, bytes = response.body): string {
  const [, charset = 'utf-8'] = CHARSET.exec(response.headers['content-type'] ?? '') ?? []
  try {
    return new TextDecoder(charset).decode(bytes)
  } catch {
    return new TextDecoder().decode(bytes)
  }
}

/** A value with every text and number in it masked, its keys included; no text may be longer than a node gives. */
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
    const cure = 'Set response_type to "text" to get it as it is.'
    throw new NodeError(`The answer is no JSON, although it should be. ${cure}`, 'not_json')
  }
}

function guardBodyLength(length: number, most: number, what: string): void {
  if (length <= most) return
  const text = `The answer has more than ${most.toLocaleString('en')} bytes of ${what}, the most that is read.`
  throw new NodeError(`${text} Ask for less of it, page by page if the server can.`, 'too_large')
}

/** Throws NodeError `too_large` where reading a body could only end so. */
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

/** All that it takes to read an answer. */
export interface UnreadResponse extends ReceivedResponse, InputValues {
  readonly kind: keyof typeof BODY_READERS
}

/** An answer that is to be read by the type asked for. @throws NodeError `too_large` where it is too large for that */
export function prepareResponse(answer: ReceivedResponse, type: ResponseType): UnreadResponse {
  const kind = type === 'auto' ? detectBodyKind(answer.response) : type
  SIZE_GUARDS[kind](answer.response.body.length)
  return { ...answer, kind }
}

/** Nanoseconds for each byte of a body: of JSON, of what is masked, and of text in the slowest charset. */
const BYTE_COSTS = { json: 100, text: 40, base64: 2 }
const MASKED_BYTE_COST = 100
/** Nanoseconds for each character of a secret, all forms of which are written before any is looked for. */
const SECRET_CHARACTER_COST = 5_000

export function costOfResponse({ response, secrets, kind }: UnreadResponse): number {
  const characters = secrets.reduce((sum, { length }) => sum + length, 0)
  return (
    response.body.length * (BYTE_COSTS[kind] + (secrets.length > 0 ? MASKED_BYTE_COST : 0)) +
    characters * SECRET_CHARACTER_COST
  )
}

/**
 * The status, the headers, and the body as what it is read. JSON that is empty is null.
 * @throws NodeError `not_json`; `too_large` and `too_deep` where it is more than a node gives
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

/** Throws NodeError `http_status` where the status says that the request failed: from 400 on. */
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
