// BucketConnection sends signed requests to one bucket, each once. It uses Node's own client rather than fetch: that client streams bodies
// of known length, and neither decodes answers nor follows redirects. It also distinguishes a late or interrupted answer from a complete
// one.
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
  /** The name of the object; if absent, the request is for the bucket itself. */
  readonly key?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: BucketRequestBody
  /** Milliseconds until the head of the answer, and between pieces of its body; if absent, the idle timeout applies. */
  readonly answer_ms?: number
  /** Aborts the request and the body of its answer. */
  readonly signal: AbortSignal
}

export interface BucketRequestBody {
  readonly bytes: AsyncIterable<Uint8Array>
  readonly length: number
  /** In hexadecimal. */
  readonly sha256: string
}

/** SHA-256 of the empty string. */
const EMPTY_SHA256 = 'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855'
const LONGEST_TEXT = 16 * 1024 * 1024
/** Characters of an error code that are shown. */
const LONGEST_CODE = 100

export class BucketConnection {
  readonly #settings: BucketSettings
  readonly #base: string
  readonly #agent: Agent
  readonly #idleTimeoutMs: number
  /** Hides the credentials: a storage may repeat them in an error, and the message of a failed start does not go through the log. */
  readonly #mask: SecretMask
  readonly #signingKeys = new Map<string, ArrayBuffer>()

  /** `silence_ms`: milliseconds without any byte in either direction after which a request counts as lost. */
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

  /**
   * Resolves when the head of the answer has come, whatever its status. The caller reads the body to its end or destroys it.
   * @throws BucketError
   */
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
      // The socket's own timeout counts only silence, and a connection that is being established is not silent.
      const late = answer_ms === undefined ? undefined : setTimeout(silent, answer_ms)
      request.on('timeout', silent)
      request.on('error', failed)
      request.on('close', () => clearTimeout(late))
      request.on('response', (response) => {
        clearTimeout(late)
        // The reader of the body sees this error as an early end.
        response.on('error', () => {})
        resolve(response)
      })
      if (body && body.length > 0) pipeline(body.bytes, request, (error) => error && failed(error))
      else request.end()
    })
  }

  /** Does what `send` does, but rejects any status other than success and those in `also`. @throws BucketError */
  async request(call: BucketRequest, also: readonly number[] = []): Promise<IncomingMessage> {
    const response = await this.send(call)
    const status = response.statusCode!
    if ((status >= 200 && status < 300) || also.includes(status)) return response
    const said = elementText(await readBodyText(response).catch(() => ''), 'Code')
    const code = said === null ? null : truncateText(this.#mask(said), LONGEST_CODE)
    // The rest of the request body need not be sent.
    response.destroy()
    throw new BucketError(`it answered ${status}${code === null ? '' : ` ${code}`}`, { status, code })
  }

  /** Aborts all requests that are under way. */
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

/** Reads a small body. @throws BucketError if it is interrupted or too long */
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

/** Escapes every character except unreserved ones and slashes (RFC 3986). */
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
