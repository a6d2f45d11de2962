// Signed requests to one bucket, each sent once. Node's own client rather than fetch: bodies of a known length are sent as they are read,
// answers are neither decoded nor followed elsewhere, and what comes late or breaks off is told apart from what has ended.
import { Agent, type IncomingMessage, request as overHttp } from 'node:http'
import { request as overHttps, Agent as SecureAgent } from 'node:https'
import { pipeline } from 'node:stream'
import { AwsV4Signer } from 'aws4fetch'
import type { BucketSettings } from '../../../config/storage.ts'
import { createStrictMask, type SecretMask } from '../../../net/secret-mask.ts'
import { truncateText } from '../../../shared/text-truncation.ts'
import { BucketError } from './bucket-error.ts'
import { elementText } from './xml.ts'

export interface BucketRequest {
  readonly method: 'GET' | 'HEAD' | 'PUT' | 'POST' | 'DELETE'
  /** Of an object; absent: the bucket itself. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: BucketRequestBody
  /** So long the head of the answer may take, in milliseconds, and each silence in its body; absent: as long as any silence may. */
  readonly answer_ms?: number
  /** Ends the request, and the body of its answer, wherever they are. */
  readonly signal: AbortSignal
}

export interface BucketRequestBody {
  readonly bytes: AsyncIterable<Uint8Array>
  readonly length: number
  /** In hexadecimal. */
  readonly sha256: string
}

/** SHA-256 of nothing. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const LONGEST_TEXT = 16 * 1024 * 1024
/** Characters of a code of an error that are told. */
const LONGEST_CODE = 100

export class BucketConnection {
  readonly #settings: BucketSettings
  readonly #base: string
  readonly #agent: Agent
  readonly #idleTimeoutMs: number
  /** A storage may repeat what it was sent, and a start that fails tells what it says past the log. */
  readonly #mask: SecretMask
  readonly #signingKeys = new Map<string, ArrayBuffer>()

  /** `silence_ms`: for so long nothing may come or go before a request counts as lost. */
  constructor(settings: BucketSettings, silence_ms: number) {
    this.#settings = settings
    this.#idleTimeoutMs = silence_ms
    const { secret_access_key, session_token } = settings.credentials
    this.#mask = createStrictMask([secret_access_key, session_token ?? ''])
    const { protocol, host } = new URL(settings.endpoint)
    this.#base = settings.path_style
      ? `${protocol}//${host}/${settings.bucket}`
      : `${protocol}//${settings.bucket}.${host}`
    this.#agent = protocol === 'https:' ? new SecureAgent({ keepAlive: true }) : new Agent({ keepAlive: true })
  }

  /** The head of the answer has come, whatever its status; the body is to be read to its end or destroyed. @throws BucketFailure */
  async send(call: BucketRequest): Promise<IncomingMessage> {
    const { url, headers } = await this.#sign(call)
    call.signal.throwIfAborted()
    const { method, body, signal, answer_ms } = call
    const open = url.protocol === 'https:' ? overHttps : overHttp
    const timeout = answer_ms ?? this.#idleTimeoutMs
    return new Promise((resolve, reject) => {
      const request = open(url, { method, headers, agent: this.#agent, signal, timeout })
      const failed = (cause: Error) => reject(signal.aborted ? signal.reason : toConnectionError(cause))
      const silent = () => request.destroy(new Error('nothing came for too long'))
      // The socket's own limit counts silence alone, and a connection that is being made is not silent.
      const late = answer_ms === undefined ? undefined : setTimeout(silent, answer_ms)
      request.on('timeout', silent)
      request.on('error', failed)
      request.on('close', () => clearTimeout(late))
      request.on('response', (response) => {
        clearTimeout(late)
        // Whoever reads it learns of this by its early end.
        response.on('error', () => {})
        resolve(response)
      })
      if (body && body.length > 0) pipeline(body.bytes, request, (error) => error && failed(error))
      else request.end()
    })
  }

  /** As `send`, where only success and the statuses of `also` are answers. @throws BucketFailure */
  async request(call: BucketRequest, also: readonly number[] = []): Promise<IncomingMessage> {
    const response = await this.send(call)
    const status = response.statusCode!
    if ((status >= 200 && status < 300) || also.includes(status)) return response
    const said = elementText(await readBodyText(response).catch(() => ''), 'Code')
    const code = said === null ? null : truncateText(this.#mask(said), LONGEST_CODE)
    // What is left of the body of the request is not wanted any more.
    response.destroy()
    throw new BucketError(`it answered ${status}${code === null ? '' : ` ${code}`}`, { status, code })
  }

  /** Breaks off what is under way. */
  close(): void {
    this.#agent.destroy()
  }

  async #sign({ method, key, query = {}, headers = {}, body }: BucketRequest) {
    const { region, credentials } = this.#settings
    const length: Record<string, string> =
      body || method === 'PUT' || method === 'POST' ? { 'content-length': String(body?.length ?? 0) } : {}
    const signer = new AwsV4Signer({
      method,
      url: `${this.#base}/${encodePath(key ?? '')}${encodeQuery(query)}`,
      headers: { ...headers, ...length, 'x-amz-content-sha256': body?.sha256 ?? EMPTY_SHA256 },
      accessKeyId: credentials.access_key_id,
      secretAccessKey: credentials.secret_access_key,
      ...(credentials.session_token === null ? {} : { sessionToken: credentials.session_token }),
      service: 's3',
      region,
      cache: this.#signingKeys,
    })
    const signed = await signer.sign()
    return { url: signed.url, headers: Object.fromEntries(signed.headers) }
  }
}

/** The whole of a small body. @throws BucketFailure where it breaks off */
export async function readBodyText(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > LONGEST_TEXT) throw new Error('it is too long')
      chunks.push(chunk)
    }
  } catch (cause) {
    throw toConnectionError(cause as Error)
  }
  if (!response.complete) throw toConnectionError(new Error('it broke off'))
  return Buffer.concat(chunks).toString()
}

function toConnectionError(cause: Error): BucketError {
  const reason = (cause as NodeJS.ErrnoException).code ?? cause.message
  return cause instanceof BucketError ? cause : new BucketError(`it did not answer (${reason})`, { cause })
}

/** RFC 3986: all but unreserved characters and slashes is escaped. */
function encodePath(key: string): string {
  return key.split('/').map(encodeComponent).join('/')
}

function encodeQuery(query: Readonly<Record<string, string>>): string {
  const parts = Object.entries(query).map(([name, value]) => `${encodeComponent(name)}=${encodeComponent(value)}`)
  return parts.length > 0 ? `?${parts.join('&')}` : ''
}

function encodeComponent(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
