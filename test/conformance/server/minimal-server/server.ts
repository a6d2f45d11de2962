// A second server of the contract, as small as it can be: written from the documents alone, for the suite to judge. On demand it has
// defects, each of which breaks one rule.
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { WebSocketServer } from 'ws'
import type { Defect } from './defects.ts'
import { claimed, type Doc, documents, problems } from './documents.ts'
import { Refusal } from './refusal.ts'
import { type Answer, PREVIEW_ROUTES, ROUTES } from './routes.ts'
import { Service } from './service.ts'
import { commandsOf, Peer } from './socket.ts'

export interface MinimalOptions {
  preview?: boolean
  /** Wanted of every caller, where it is given. */
  token?: string | null
  /** Of somebody else, who has a service of their own. */
  other_token?: string
  defects?: readonly Defect[]
}

export interface MinimalServer extends AsyncDisposable {
  readonly url: string
}

const PUBLIC = ['getReady', 'getOpenapiDocument', 'getAsyncapiDocument']

export async function startMinimal({
  preview = false,
  token = null,
  other_token,
  defects = [],
}: MinimalOptions = {}): Promise<MinimalServer> {
  const has = (defect: Defect) => defects.includes(defect)
  const app = new App(new Service(preview, has), token, other_token)
  const server = createServer((request, response) => void app.handle(request, response))
  const sockets = new WebSocketServer({ noServer: true })
  server.on('upgrade', (request, socket, head) => {
    const url = new URL(request.url ?? '/', 'http://x')
    const given =
      request.headers.authorization ??
      (has('query-token-ignored') ? undefined : `Bearer ${url.searchParams.get('api_key')}`)
    if (url.pathname !== '/ws' || app.refusal(given) !== null) {
      const body = has('upgrade-body') ? 'Unauthorized' : ''
      socket.end(`HTTP/1.1 401 Unauthorized\r\nContent-Length: ${body.length}\r\nConnection: close\r\n\r\n${body}`)
    } else sockets.handleUpgrade(request, socket, head, (ws) => new Peer(ws, app.serviceOf(given)))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const job of app.service.jobs.values()) if (!job.terminal) job.cancel()
      for (const ws of sockets.clients) ws.terminate()
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

type Door = 'api' | 'sdk' | 'openai'

function doorOf(path: string): Door {
  if (path.startsWith('/v1/')) return 'openai'
  return path.startsWith('/api/sdk/v1/') || /^\/api\/workflows\/[^/]+\/interface$/.test(path) ? 'sdk' : 'api'
}

interface Found {
  operation: Doc
  values: Record<string, string>
}

class App {
  readonly service: Service
  readonly #token: string | null
  readonly #other: { credential: string; service: Service } | null
  readonly #documents: { openapi: string; asyncapi: string }
  readonly #served: ReadonlyMap<string, string>

  constructor(service: Service, token: string | null, other?: string) {
    this.service = service
    const theirs = service.has('jobs-shared') ? service : new Service(service.preview, service.has)
    this.#other = other === undefined ? null : { credential: `Bearer ${other}`, service: theirs }
    this.#token = token
    const lost = (id: string) => id === 'preflightWorkflow' && service.has('preflight-lost')
    const preview = service.preview ? Object.keys(PREVIEW_ROUTES) : []
    this.#served = new Map([
      ...[...Object.keys(ROUTES), ...PUBLIC].filter((id) => !lost(id)).map((id) => [id, 'implemented'] as const),
      ...preview.map((id) => [id, 'preview'] as const),
    ])
    this.#documents = claimed(this.#served, commandsOf(service.preview), service.has('misplaced'))
  }

  async handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { has } = this.service
    const given = String(request.headers['x-request-id'] ?? '')
    const usable = /^[\x21-\x7e]{1,128}$/.test(given) && !has('request-id-lost')
    const id = usable ? given : has('request-id-missing') ? '' : randomUUID()
    const url = new URL(request.url ?? '/', 'http://x')
    const chunks: Buffer[] = []
    for await (const chunk of request as AsyncIterable<Buffer>) chunks.push(chunk)
    request.headers['x-request-id'] = id
    const answer = await this.#answer(request, url, Buffer.concat(chunks), response).catch((error) =>
      this.#refused(error, doorOf(url.pathname)),
    )
    if (answer === null) return
    const { status, body, headers = {}, bytes } = answer
    const type = bytes || status === 204 ? {} : { 'Content-Type': this.#json }
    response.writeHead(status, { ...(id === '' ? {} : { 'X-Request-Id': id }), ...type, ...headers })
    response.end(bytes ?? (status === 204 ? undefined : JSON.stringify(body)))
  }

  get #json(): string {
    return this.service.has('plain-json-type') ? 'text/plain' : 'application/json; charset=utf-8'
  }

  #document(name: 'openapi' | 'asyncapi'): Answer {
    return { status: 200, headers: { 'Content-Type': this.#json }, bytes: Buffer.from(this.#documents[name]) }
  }

  #refused(error: unknown, door: Door): Answer {
    const { has } = this.service
    const refusal = error instanceof Refusal ? error : new Refusal('INTERNAL_ERROR')
    const body: Doc = refusal.body(door === 'sdk' && !has('flat-fields-missing'))
    if (door === 'openai' && !has('param-missing')) body.error.param = null
    if (has('text-error') && door === 'api') return { status: refusal.status, body: { error: refusal.message } }
    if (has('not-found-retryable') && refusal.code === 'JOB_NOT_FOUND') body.retryable = true
    if (has('cause-told')) body.error.message = `${refusal.message}\n    at handle (/home/svc/app.js:1:1)`
    if (has('first-problem-only') && body.error.problems) body.error.problems.length = 1
    return { status: refusal.status, body, ...(refusal instanceof MethodRefusal ? { headers: refusal.headers } : {}) }
  }

  /** Each principal's own. */
  serviceOf(authorization: string | undefined): Service {
    return this.#other !== null && authorization === this.#other.credential ? this.#other.service : this.service
  }

  /** What a caller without the right to is told, or null. */
  refusal(authorization: string | undefined): string | null {
    if (authorization?.startsWith('Bearer nta_') && !this.service.has('confined-token-taken')) return 'invalid_token'
    if (authorization !== undefined && authorization === this.#other?.credential) return null
    return this.#token === null || authorization === `Bearer ${this.#token}` ? null : 'Unauthorized'
  }

  async #answer(request: IncomingMessage, url: URL, bytes: Buffer, response: ServerResponse): Promise<Answer> {
    const { has } = this.service
    const method = String(request.method).toLowerCase()
    const found = this.#find(method, url.pathname)
    const open = found !== null && PUBLIC.includes(found.operation.operationId) && !has('probes-want-token')
    const early = has('unknown-before-access') && this.#find(null, url.pathname) === null
    const refused = open || early ? null : this.refusal(request.headers.authorization)
    if (refused !== null) return { status: 401, body: { error: refused } }
    if (found === null) throw this.#unknown(url.pathname)
    const { operation, values } = found
    this.#judgeQuery(operation, url)
    if (operation.operationId === 'getOpenapiDocument') return this.#document('openapi')
    if (operation.operationId === 'getAsyncapiDocument') return this.#document('asyncapi')
    const body = this.#body(operation, request, bytes)
    this.#judge(operation, body)
    const route =
      PREVIEW_ROUTES[operation.operationId] ?? ROUTES[operation.operationId] ?? (() => ({ status: 200, body: {} }))
    const answer = await route(
      { values, query: url.searchParams, headers: request.headers, body, bytes, response },
      this.serviceOf(request.headers.authorization),
    )
    return answer && has('key-missing') && operation.operationId === 'preflightWorkflow'
      ? { ...answer, body: { ...answer.body, cost: undefined } }
      : answer
  }

  #body(operation: Doc, request: IncomingMessage, bytes: Buffer): Doc {
    const { has } = this.service
    const content = operation.requestBody?.content
    if (!content) return null
    const type = String(request.headers['content-type'] ?? '')
      .split(';')[0]!
      .trim()
    if (has('charset-refused') && /charset/.test(String(request.headers['content-type'])))
      throw new Refusal('UNSUPPORTED_MEDIA_TYPE')
    if (has('body-before-type')) parsed(bytes, 'INVALID_REQUEST')
    if (!(type in content) && !has('any-content-type')) throw new Refusal('UNSUPPORTED_MEDIA_TYPE')
    if (!('application/json' in content)) return null
    return parsed(bytes, has('malformed-is-500') ? 'INTERNAL_ERROR' : 'INVALID_REQUEST')
  }

  #judge(operation: Doc, body: Doc): void {
    const { has } = this.service
    const schema = operation.requestBody?.content['application/json']?.schema
    const wrong = schema ? problems(schema, body, documents.openapi, '/body') : []
    const kinds: [Defect, RegExp][] = [
      ['unknown-properties-taken', /is unknown/],
      ['bounds-ignored', /length|bounds|number of/],
      ['missing-taken', /is missing/],
      ['types-ignored', /^must be/],
      ['nulls-taken', /^must not be null/],
    ]
    const counted = wrong.filter(
      ({ message }) => !kinds.some(([defect, pattern]) => has(defect) && pattern.test(message)),
    )
    const nulls = has('nulls-refused') && body && Object.values(body).includes(null)
    if (nulls) counted.push({ path: '/body', message: 'must not be null' })
    if (counted.length > 0) throw new Refusal('INVALID_REQUEST', counted)
  }

  #judgeQuery(operation: Doc, url: URL): void {
    const { has } = this.service
    const all = (operation.parameters ?? []).map((one: Doc) => (one.$ref ? named(one.$ref) : one))
    for (const [name, text] of url.searchParams) {
      const parameter = all.find((one: Doc) => one.in === 'query' && one.name === name)
      if (!parameter && !has('unknown-query-ignored')) throw new Refusal('INVALID_REQUEST')
      const schema = parameter?.schema ?? {}
      const value = schema.type === 'integer' ? Number(text) : text
      if (problems(schema, value, documents.openapi).length > 0 && !has('query-unchecked'))
        throw new Refusal('INVALID_REQUEST')
    }
  }

  #unknown(path: string): Refusal {
    const methods = ['get', 'put', 'post', 'delete', 'head'].filter((method) => this.#find(method, path) !== null)
    if (methods.length === 0) return new Refusal('NOT_FOUND')
    return new MethodRefusal(
      this.service.has('no-allow') ? null : methods.map((method) => method.toUpperCase()).join(', '),
    )
  }

  /** The operation of a path; with no method, any. */
  #find(method: string | null, path: string): Found | null {
    for (const [template, item] of Object.entries<Doc>(documents.openapi.paths)) {
      const values = match(template, path)
      if (values === null) continue
      for (const [name, operation] of Object.entries<Doc>(item)) {
        const id = operation?.operationId
        const served = this.#served.has(id) || (this.service.has('planned-served') && id === 'getSettings')
        if (id && served && (method === null || name === method)) return { operation, values }
      }
    }
    return null
  }
}

function parsed(bytes: Buffer, code: 'INTERNAL_ERROR' | 'INVALID_REQUEST'): Doc {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    throw new Refusal(code)
  }
}

class MethodRefusal extends Refusal {
  readonly headers: Record<string, string>

  constructor(allow: string | null) {
    super('METHOD_NOT_ALLOWED')
    this.headers = allow === null ? {} : { Allow: allow }
  }
}

function named(reference: string): Doc {
  return documents.openapi.components.parameters[reference.slice(reference.lastIndexOf('/') + 1)]
}

/** The values of a path template, or null where it is another path. */
function match(template: string, path: string): Record<string, string> | null {
  const { names, pattern } = patternOf(template)
  const found = path.match(pattern)
  if (!found) return null
  return Object.fromEntries(names.map((name, at) => [name, decoded(found[at + 1]!)]))
}

const PATTERNS = new Map<string, { names: readonly string[]; pattern: RegExp }>()

/** A storage key takes the rest. */
function patternOf(template: string) {
  const known = PATTERNS.get(template)
  if (known) return known
  const names: string[] = []
  const pattern = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    names.push(name)
    return name === 'key' ? '(.+)' : '([^/]+)'
  })
  const made = { names, pattern: new RegExp(`^${pattern}$`) }
  PATTERNS.set(template, made)
  return made
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
