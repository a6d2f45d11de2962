// Encodes the `body` of a node for a request, with its content type.

import type { NodeContext } from '../../engine/node-api/node-context.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import { getValueKind } from '../../engine/node-api/values/type-conformance.ts'
import type { Steps } from '../../shared/time-slices.ts'
import { abbreviate, guardTextLength } from '../shared/value-limits.ts'
import { valueJsonSteps, valueTextSteps } from '../shared/value-operations.ts'
import type { FiringSecrets } from './secret-placeholders.ts'

interface RequestBody {
  readonly bytes: string | Uint8Array
  readonly content_type: string
}

type BodyWriter = (body: unknown, secrets: FiringSecrets, context: NodeContext) => Promise<RequestBody>

const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain; charset=utf-8'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const BINARY_TYPE = 'application/octet-stream'
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/

/** In fields of a query or form. Servers accept fewer. */
const MOST_FIELDS = 10_000

/** Characters of a text that are processed per step. */
const CHARACTERS_PER_STEP = 16_384

function* removeSpaces(text: string): Steps<string> {
  const pieces: string[] = []
  for (let at = 0; at < text.length; at += CHARACTERS_PER_STEP) {
    pieces.push(text.slice(at, at + CHARACTERS_PER_STEP).replaceAll(/\s/g, ''))
    yield
  }
  return pieces.join('')
}

const escapeForJson = (value: string) => JSON.stringify(value).slice(1, -1)

/** The text of one value. Throws NodeError `bad_input` if the value is a list or dict. */
export function formatSingleValue(key: string, value: unknown, what: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  const cure = 'It takes texts, numbers, true and false, and lists of them.'
  throw new NodeError(`${what} "${abbreviate(key)}" is ${getValueKind(value)}. ${cure}`, 'bad_input')
}

function tooManyFieldsError(property: string): NodeError {
  const what = property === 'query' ? 'The query' : 'The form'
  return new NodeError(`${what} would have more than ${MOST_FIELDS.toLocaleString('en')} fields.`, 'too_large')
}

/**
 * Names and values in the form of a query or form (WHATWG URL). A list repeats its name, and null omits it. @throws NodeError `bad_input`
 * for a dict, or a list within a list; `too_large`
 */
export async function encodeFields(
  record: Readonly<Record<string, unknown>>,
  property: string,
  secrets: FiringSecrets,
  context: NodeContext,
): Promise<string> {
  const what = property === 'query' ? 'The query parameter' : 'The form field'
  const written: string[] = []
  let length = 0
  const keys = Object.keys(record)
  if (keys.length > MOST_FIELDS) throw tooManyFieldsError(property)
  for (const key of keys) {
    const value = record[key]
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === null || one === undefined) continue
      if (written.length === MOST_FIELDS) throw tooManyFieldsError(property)
      const text = await secrets.fill(property, formatSingleValue(key, one, what))
      length += key.length + text.length + 2
      guardTextLength(length)
      written.push(await context.inSlices(encodeFieldSteps(key, text)))
    }
  }
  return written.join('&')
}

function* encodeFieldSteps(key: string, value: string): Steps<string> {
  return `${yield* encodeTextSteps(key)}=${yield* encodeTextSteps(value)}`
}

function* encodeTextSteps(text: string): Steps<string> {
  const pieces: string[] = []
  for (let from = 0; from < text.length; ) {
    const to = wholeCharacterEnd(text, from + CHARACTERS_PER_STEP)
    pieces.push(new URLSearchParams([['', text.slice(from, to)]]).toString().slice(1))
    from = to
    yield
  }
  return pieces.join('')
}

/** The position, or the one before it if it splits a surrogate pair. */
function wholeCharacterEnd(text: string, at: number): number {
  const code = text.charCodeAt(at - 1)
  return code >= 0xd800 && code < 0xdc00 ? at - 1 : at
}

const BODY_WRITERS = {
  json: async (body, secrets, context) => ({
    bytes: await secrets.fill('body', await context.inSlices(valueJsonSteps(body)), escapeForJson),
    content_type: JSON_TYPE,
  }),
  text: async (body, secrets, context) => ({
    bytes: await secrets.fill('body', await context.inSlices(valueTextSteps(body))),
    content_type: TEXT_TYPE,
  }),
  form: async (body, secrets, context) => {
    if (getValueKind(body) !== 'dict')
      throw new NodeError(`The body of a form must be a dict, not ${getValueKind(body)}.`, 'bad_input')
    return {
      bytes: await encodeFields(body as Record<string, unknown>, 'body', secrets, context),
      content_type: FORM_TYPE,
    }
  },
  base64: async (body, _secrets, context) => {
    const text = typeof body === 'string' ? await context.inSlices(removeSpaces(body)) : null
    if (text !== null && BASE64.test(text)) return { bytes: Buffer.from(text, 'base64'), content_type: BINARY_TYPE }
    throw new NodeError(
      'The body is not base64. Base64 consists of A–Z, a–z, 0–9, + and /, with = at the end.',
      'bad_input',
    )
  },
} satisfies Record<string, BodyWriter>

export type BodyType = 'auto' | keyof typeof BODY_WRITERS

export const BODY_TYPES: readonly BodyType[] = ['auto', 'json', 'form', 'text', 'base64']

/** The body of a request, or null without one: null and undefined send no body. */
export async function encodeRequestBody(
  body: unknown,
  type: BodyType,
  secrets: FiringSecrets,
  context: NodeContext,
): Promise<RequestBody | null> {
  if (body === null || body === undefined) return null
  if (body instanceof Uint8Array) return { bytes: body, content_type: BINARY_TYPE }
  if (type !== 'auto') return BODY_WRITERS[type](body, secrets, context)
  return typeof body === 'string'
    ? BODY_WRITERS.text(body, secrets, context)
    : BODY_WRITERS.json(body, secrets, context)
}
