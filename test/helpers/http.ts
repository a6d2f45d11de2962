// Sends requests to a test server. Every answer is checked against the contract: an undeclared status, body or content type fails the test.
import assert from 'node:assert/strict'
import { type IncomingHttpHeaders, request as send } from 'node:http'
import { type OperationInfo, operationManifest } from '../../generated/operations.ts'
import { responseValidators, schemaValidators, type Validate } from '../../generated/validators-out.js'
import { recordErrorCode, recordReached } from './reached.ts'

export interface CallOptions {
  /** The body as JSON. */
  body?: unknown
  /** The raw body, without a content type. */
  raw?: string | Uint8Array
  headers?: Readonly<Record<string, string | string[]>>
}

export interface Answer<T = unknown> {
  status: number
  headers: IncomingHttpHeaders
  /** The parsed JSON, otherwise the text. Null without a body. */
  body: T
  text: string
}

/** The error body of every API, as far as tests read it. */
export interface ErrorBody {
  error: { message: string; type: string; code: number; problems?: { path: string; message: string; code?: string }[] }
}

/** Sends `path` unchanged, without normalization, and returns an answer that matches the contract. */
export async function call<T = unknown>(
  server: { readonly url: string },
  method: string,
  path: string,
  options: CallOptions = {},
): Promise<Answer<T>> {
  const answer = await exchange(server.url, method, path, options)
  checkAnswer(method, path, answer)
  return answer as Answer<T>
}

/** As `call`, and asserts an error with this status and type. Returns the sorted paths of its problems. */
export async function refused(
  server: { readonly url: string },
  method: string,
  path: string,
  options: CallOptions,
  [status, type]: [number, string],
): Promise<string[]> {
  const { status: got, body, text } = await call<ErrorBody>(server, method, path, options)
  assert.equal(got, status, text)
  assert.equal(body.error.type, type, text)
  return (body.error.problems ?? []).map((problem) => problem.path).sort()
}

function exchange(url: string, method: string, path: string, { body, raw, headers }: CallOptions): Promise<Answer> {
  const { hostname, port } = new URL(url)
  const payload = raw ?? (body === undefined ? undefined : JSON.stringify(body))
  const content = body === undefined ? {} : { 'Content-Type': 'application/json' }
  const length = payload === undefined ? {} : { 'Content-Length': Buffer.byteLength(payload) }
  return new Promise((resolve, reject) => {
    const outgoing = send(
      {
        host: hostname.replace(/^\[|\]$/g, ''),
        port,
        method,
        path,
        agent: false,
        headers: { ...content, ...length, ...headers },
      },
      (incoming) => {
        const chunks: Buffer[] = []
        incoming.on('data', (chunk: Buffer) => chunks.push(chunk))
        incoming.on('error', reject)
        incoming.on('end', () => {
          const text = Buffer.concat(chunks).toString()
          resolve({
            status: incoming.statusCode!,
            headers: incoming.headers,
            text,
            body: parse(incoming.headers, text),
          })
        })
      },
    )
    outgoing.on('error', reject)
    outgoing.end(payload)
  })
}

function parse(headers: IncomingHttpHeaders, text: string): unknown {
  if (text === '') return null
  return headers['content-type']?.startsWith('application/json') ? JSON.parse(text) : text
}

/** Checks the headers for browsers in every answer. */
const SECURE: readonly [string, RegExp][] = [
  ['x-content-type-options', /^nosniff$/],
  ['x-frame-options', /^DENY$/],
  ['referrer-policy', /^no-referrer$/],
  ['content-security-policy', /^default-src 'none'; .*(frame-ancestors 'none'|sandbox)$/],
  ['cross-origin-resource-policy', /^(same|cross)-origin$/],
  ['cache-control', /^(no-store|no-cache|(private|public), no-cache|public, max-age=\d+(, immutable)?)$/],
  ['vary', /^Origin(, .+)?$/],
]

function checkAnswer(method: string, path: string, answer: Answer): void {
  const { status, headers, text } = answer
  if (status >= 400) recordErrorCode(answer.body)
  const what = `${method} ${path} → ${status} ${text.slice(0, 500)}`
  assert.match(String(headers['x-request-id']), /^[\x21-\x7e]{1,128}$/, `${what}: X-Request-Id`)
  for (const [name, expected] of SECURE) assert.match(String(headers[name]), expected, `${what}: ${name}`)
  if (status === 405) assert.match(headers.allow ?? '', /^[A-Z]+(, [A-Z]+)*$/, `${what}: Allow`)
  if (headers['retry-after'] !== undefined) assert.match(String(headers['retry-after']), /^\d+$/, what)
  if (method === 'OPTIONS' && status === 204) return assert.match(headers.allow ?? '', /OPTIONS/, what)
  if (status === 204 || method === 'HEAD') return assert.equal(text, '', `${what}: no body`)
  checkBody(method, path, answer, what)
}

function recordEvent({ type, status }: { type: string; status?: string }): void {
  recordReached('event', type)
  if (status !== undefined) recordReached('status', status)
}

function checkBody(method: string, path: string, { status, headers, body }: Answer, what: string): void {
  const operation = operationOf(method, path)
  if (!operation) {
    assert.ok([400, 401, 403, 404, 405, 429, 500, 503].includes(status), `${what}: no operation, and this status`)
    return valid(unclaimed(path, status), body, what)
  }
  const bodies: Readonly<Record<string, Validate | null>> = responseValidators[operation.operationId] ?? {}
  assert.ok(String(status) in bodies, `${what}: ${operation.operationId} does not declare ${status}`)
  if (operation.operationId === 'followJobEvents' && Array.isArray(body)) body.forEach(recordEvent)
  const validate = bodies[status]
  if (!validate) return
  assert.equal(headers['content-type'], 'application/json; charset=utf-8', what)
  valid(validate, body, what)
}

const DOORS = { api: 'ApiError', sdk: 'SdkError', openai: 'OpenAiError' } as const

/** Returns the error form of a path without an operation, or with other methods. */
function unclaimed(path: string, status: number): Validate {
  if (status === 401) return schemaValidators.RefusedError!
  const claimed = find(path, () => true)
  if (claimed) return schemaValidators[DOORS[claimed.errors]]!
  if (path.startsWith('/v1/')) return schemaValidators.OpenAiError!
  return schemaValidators[path.startsWith('/api/sdk/v1/') ? 'SdkError' : 'ApiError']!
}

function valid(validate: Validate, body: unknown, what: string): void {
  assert.ok(validate(body), `${what}\ndoes not fit the contract: ${JSON.stringify(validate.errors)}`)
}

/** With the preview. Where the preview is off, no operation claims its paths, and the error form is the same. */
const served = operationManifest.filter(({ implementation, preview }) => implementation === 'implemented' || preview)

/** Returns the operation of a request. HEAD counts as GET. The most literal path wins. */
export function operationOf(method: string, path: string): OperationInfo | null {
  const wanted = method === 'HEAD' ? 'get' : method.toLowerCase()
  const operation = find(path, (one) => one.path !== '')
  return operation ? (find(path, (one) => one.path === operation.path && one.method === wanted) ?? null) : null
}

function find(path: string, accept: (operation: OperationInfo) => boolean): OperationInfo | null {
  const segments = path.split('?')[0]!.split('/').slice(1)
  const fitting = served.filter((operation) => accept(operation) && fits(operation, segments))
  const [best] = fitting.sort((a, b) => (literal(a) < literal(b) ? 1 : -1))
  return best ?? null
}

function fits({ path, wildcard, trailing_slash }: OperationInfo, segments: readonly string[]): boolean {
  const given = trailing_slash && segments.at(-1) === '' ? segments.slice(0, -1) : segments
  const parts = path.split('/').slice(1)
  const open = wildcard !== null && given.length > parts.length
  if (!open && given.length !== parts.length) return false
  return parts.every((part, at) => (part.startsWith('{') ? given[at] !== '' : part === given[at]))
}

/** `/api/workflows/{id}` becomes `110`. A greater text is more literal, from the left. */
function literal({ path }: OperationInfo): string {
  return path
    .split('/')
    .slice(1)
    .map((part) => (part.startsWith('{') ? '0' : '1'))
    .join('')
}
