// A small identity provider for tests, over HTTP on its own port. It signs tokens, publishes its keys and identifies users. It can change
// its keys, delay answers, send invalid answers, or be unreachable.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type CryptoKey,
  exportJWK,
  generateKeyPair,
  type JWK,
  type JWTHeaderParameters,
  type JWTPayload,
  SignJWT,
} from 'jose'

/** The claims of a token. Times are seconds; `expires_in` is in seconds and `now` in milliseconds. */
export interface TokenClaims extends JWTPayload {
  workspace_id?: string
  /** Seconds from now. Absent: 3600. Null: the token does not expire. */
  expires_in?: number | null
  /** Milliseconds since the epoch, for a test with its own clock. */
  now?: number
}

export interface SigningKey {
  readonly kid: string
  readonly alg: string
  readonly private_key: CryptoKey
  readonly jwk: JWK
}

/** The answer instead of the right one. */
export interface OddAnswer {
  status?: number
  headers?: Readonly<Record<string, string>>
  body?: string
}

type Endpoint = 'keys' | 'user'

const PATHS: Readonly<Record<string, Endpoint>> = {
  '/auth/v1/.well-known/jwks.json': 'keys',
  '/auth/v1/user': 'user',
}

let keys = 0

/** A new key pair with its own id. */
export async function signingKey(alg = 'ES256', kid = `key-${++keys}`): Promise<SigningKey> {
  const { publicKey, privateKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, private_key: privateKey, jwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** Use it as `await using idp = await startIdentityProvider()`. `environment` configures a server to use it. */
export async function startIdentityProvider(alg?: string): Promise<IdentityProvider> {
  const provider = new IdentityProvider(await signingKey(alg))
  await provider.listen()
  return provider
}

export class IdentityProvider {
  readonly key = 'idp-key-of-this-test-0123456789'
  /** Received requests by kind. `other` counts unknown paths. */
  readonly requests = { keys: 0, user: 0, other: 0 }
  /** The most concurrent requests. */
  most_at_once = 0
  /** The published keys. The last one signs. */
  keys: SigningKey[]
  readonly #server = createServer((request, response) => void this.#answer(request, response))
  readonly #users = new Map<string, object>()
  readonly #odd = new Map<Endpoint, OddAnswer>()
  #gate: PromiseWithResolvers<void> | null = null
  #down = false
  #open = 0

  constructor(key: SigningKey) {
    this.keys = [key]
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  get issuer(): string {
    return `${this.url}/auth/v1`
  }

  get environment(): { IDP_URL: string; IDP_KEY: string } {
    return { IDP_URL: this.url, IDP_KEY: this.key }
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve))
  }

  /** Returns a signed token. An undefined claim is left out, even a standard one. `header` replaces members of the header. */
  token(claims: TokenClaims, header: Partial<JWTHeaderParameters> = {}, key = this.keys.at(-1)!): Promise<string> {
    const { workspace_id, expires_in = 3600, now = Date.now(), ...rest } = claims
    const iat = Math.floor(now / 1000)
    const payload: JWTPayload = {
      iss: this.issuer,
      aud: 'authenticated',
      role: 'authenticated',
      iat,
      ...(expires_in === null ? {} : { exp: iat + expires_in }),
      ...(workspace_id === undefined ? {} : { app_metadata: { workspace_id } }),
      ...rest,
    }
    const signed = new SignJWT(JSON.parse(JSON.stringify(payload)) as JWTPayload)
    return signed.setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT', ...header }).sign(key.private_key)
  }

  /** Returns an opaque token, which the user endpoint accepts from now on. */
  opaque(
    user: { id: string; workspace_id?: string },
    token = `opaque-${this.#users.size}-${crypto.randomUUID()}`,
  ): string {
    const { id, workspace_id } = user
    this.#users.set(token, {
      id,
      aud: 'authenticated',
      app_metadata: workspace_id === undefined ? {} : { workspace_id },
    })
    return token
  }

  /** Revokes an opaque token. */
  revoke(token: string): void {
    this.#users.delete(token)
  }

  /** Signs with a new key from now on. Earlier keys are withdrawn unless they are kept. */
  async rotate({ alg, keep = false }: { alg?: string; keep?: boolean } = {}): Promise<void> {
    const key = await signingKey(alg)
    this.keys = keep ? [...this.keys, key] : [key]
  }

  /** Cuts every connection without an answer, until `up`. */
  down(): void {
    this.#down = true
    this.#server.closeAllConnections()
  }

  up(): void {
    this.#down = false
  }

  /** Delays every answer until the returned function is called. */
  hold(): () => void {
    const gate = Promise.withResolvers<void>()
    this.#gate = gate
    return () => {
      this.#gate = null
      gate.resolve()
    }
  }

  /** Sends this answer instead of the right one. Null restores the right one. */
  answer(endpoint: Endpoint, odd: OddAnswer | null): void {
    if (odd) this.#odd.set(endpoint, odd)
    else this.#odd.delete(endpoint)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const endpoint = request.method === 'GET' ? PATHS[request.url ?? ''] : undefined
    this.requests[endpoint ?? 'other']++
    this.most_at_once = Math.max(this.most_at_once, ++this.#open)
    response.once('close', () => this.#open--)
    await this.#gate?.promise
    if (this.#down) {
      response.destroy()
      return
    }
    const { status, headers, body } = (endpoint && this.#odd.get(endpoint)) ?? this.#right(request, endpoint)
    response.writeHead(status ?? 200, { 'Content-Type': 'application/json', ...headers }).end(body)
  }

  #right({ headers }: IncomingMessage, endpoint: Endpoint | undefined): OddAnswer {
    if (endpoint === 'keys') return json(200, { keys: this.keys.map(({ jwk }) => jwk) })
    if (endpoint === undefined) return json(404, { message: 'not found' })
    const token = /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1] ?? ''
    const user = headers.apikey === this.key ? this.#users.get(token) : undefined
    return user ? json(200, user) : json(401, { code: 401, msg: 'invalid token' })
  }
}

function json(status: number, body: unknown): OddAnswer {
  return { status, body: JSON.stringify(body) }
}
