// What a request carries, made out of a node's `body`, and the content type that goes with it.
import { NodeError } from '../engine/node-error.ts'
import { kindOf } from '../engine/values.ts'
import type { FiringSecrets } from './http-secrets.ts'
import { guardText } from './limits.ts'
import { toJson, toText } from './values.ts'

interface RequestBody {
  readonly bytes: string | Uint8Array
  readonly content_type: string
}

type Writer = (body: unknown, secrets: FiringSecrets) => Promise<RequestBody>

const JSON_TYPE = 'application/json'
const TEXT_TYPE = 'text/plain; charset=utf-8'
const FORM_TYPE = 'application/x-www-form-urlencoded'
const BINARY_TYPE = 'application/octet-stream'
const BASE64 = /^[A-Za-z0-9+/_-]*={0,2}$/

/** How many fields a query or form may have; servers take fewer. */
const MOST_FIELDS = 10_000

const insideJson = (value: string) => JSON.stringify(value).slice(1, -1)

/** One value as the text that is sent. Throws NodeError `bad_input` where it is a list or dict. */
export function single(key: string, value: unknown, what: string): string {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value)
  const cure = 'It takes texts, numbers, true and false, and lists of them.'
  throw new NodeError(`${what} "${key.slice(0, 60)}" is ${kindOf(value)}. ${cure}`, 'bad_input')
}

function tooManyFields(property: string): NodeError {
  const what = property === 'query' ? 'The query' : 'The form'
  return new NodeError(`${what} would have more than ${MOST_FIELDS.toLocaleString('en')} fields.`, 'too_large')
}

/**
 * Names and values for a query or form: a list repeats its name, null leaves it out.
 * @throws NodeError `bad_input` where a value is a dict or a list within a list; `too_large`
 */
export async function pairs(
  record: Readonly<Record<string, unknown>>,
  property: string,
  secrets: FiringSecrets,
): Promise<URLSearchParams> {
  const what = property === 'query' ? 'The query parameter' : 'The form field'
  const found = new URLSearchParams()
  let length = 0
  const keys = Object.keys(record)
  if (keys.length > MOST_FIELDS) throw tooManyFields(property)
  for (const key of keys) {
    const value = record[key]
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one === null || one === undefined) continue
      if (found.size === MOST_FIELDS) throw tooManyFields(property)
      const text = await secrets.fill(property, single(key, one, what))
      length += key.length + text.length + 2
      guardText(length)
      found.append(key, text)
    }
  }
  return found
}

const WRITERS = {
  json: async (body, secrets) => ({
    bytes: await secrets.fill('body', toJson(body), insideJson),
    content_type: JSON_TYPE,
  }),
  text: async (body, secrets) => ({ bytes: await secrets.fill('body', toText(body)), content_type: TEXT_TYPE }),
  form: async (body, secrets) => {
    if (kindOf(body) !== 'dict') throw new NodeError(`A form is made of a dict, not of ${kindOf(body)}.`, 'bad_input')
    const form = await pairs(body as Record<string, unknown>, 'body', secrets)
    return { bytes: form.toString(), content_type: FORM_TYPE }
  },
  base64: async (body) => {
    const text = typeof body === 'string' ? body.replaceAll(/\s/g, '') : null
    if (text !== null && BASE64.test(text)) return { bytes: Buffer.from(text, 'base64'), content_type: BINARY_TYPE }
    throw new NodeError('The body is no base64 text: it takes A–Z, a–z, 0–9, +, / and = at the end.', 'bad_input')
  },
} satisfies Record<string, Writer>

export type BodyType = 'auto' | keyof typeof WRITERS

export const BODY_TYPES: readonly BodyType[] = ['auto', 'json', 'form', 'text', 'base64']

/** The body of a request, or null where there is none: null and undefined send nothing. */
export async function requestBody(body: unknown, type: BodyType, secrets: FiringSecrets): Promise<RequestBody | null> {
  if (body === null || body === undefined) return null
  if (body instanceof Uint8Array) return { bytes: body, content_type: BINARY_TYPE }
  if (type !== 'auto') return WRITERS[type](body, secrets)
  return typeof body === 'string' ? WRITERS.text(body, secrets) : WRITERS.json(body, secrets)
}
