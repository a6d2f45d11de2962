// The second client's HTTP requests: the token, retries of what may be tried again, and errors.
import { ClientError, pause, type Settings, type Tokens } from './flaws.ts'

type Fields = Record<string, unknown>

const ATTEMPTS = 8
const FIRST_PAUSE_MS = 50

export interface HttpRequest {
  readonly method: 'GET' | 'POST'
  readonly path: string
  readonly json?: unknown
  readonly raw?: { readonly content_type: string; readonly bytes: Uint8Array }
}

/** A path with its parameters encoded. */
export function pathOf({ flaws }: Settings, parts: TemplateStringsArray, ...ids: string[]): string {
  const encoded = ids.map((id) => (flaws.has('paths-as-they-are') ? id : encodeURIComponent(id)))
  return String.raw({ raw: parts }, ...encoded)
}

/** Sends a request until it is answered, as long as that may help. @throws ClientError */
export async function http(settings: Settings, tokens: Tokens, request: HttpRequest): Promise<Fields> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await once(settings, tokens, request).catch((error: ClientError) => error)
    if (!(answer instanceof ClientError)) return answer
    if (!mayTryAgain(settings, answer) || attempt >= ATTEMPTS) throw answer
    await waitFor(settings, answer, attempt)
  }
}

export function mayTryAgain({ flaws }: Settings, { code, retryable }: ClientError): boolean {
  if (flaws.has('list-of-codes'))
    return ['CONNECTION_LOST', 'RATE_LIMITED', 'SERVICE_UNAVAILABLE', 'INTERNAL_ERROR'].includes(code)
  if (flaws.has('retryable-is-final') && code !== 'CONNECTION_LOST') return false
  if (flaws.has('every-503-again') && code === 'SDK_LIFECYCLE_DISABLED') return true
  if (flaws.has('retries-preflight-failed') && code === 'PREFLIGHT_FAILED') return true
  if (flaws.has('uploads-again') && code === 'UPLOAD_TOO_LARGE') return true
  return retryable
}

export function waitFor({ flaws, signal }: Settings, { retry_after }: ClientError, attempt: number): Promise<void> {
  const asked = flaws.has('ignores-retry-after') ? null : retry_after
  return pause(asked === null ? FIRST_PAUSE_MS * 2 ** Math.min(attempt - 1, 6) : asked * 1000 + 20, signal)
}

/** @throws ClientError */
export async function once(
  settings: Settings,
  tokens: Tokens,
  { method, path, json, raw }: HttpRequest,
): Promise<Fields> {
  const token = tokens.current
  const headers: Record<string, string> = { Authorization: `Bearer ${token}` }
  if (json !== undefined) headers['Content-Type'] = 'application/json'
  if (raw) headers['Content-Type'] = raw.content_type
  const body = raw ? Buffer.from(raw.bytes) : json === undefined ? undefined : JSON.stringify(json)
  const response = await fetch(`${settings.url}${path}`, { method, headers, body, signal: settings.signal }).catch(
    () => {
      throw new ClientError(settings.signal.aborted ? 'ABORTED' : 'CONNECTION_LOST', !settings.signal.aborted)
    },
  )
  const answer = (await response.json().catch(() => {
    if (!response.ok) return {}
    throw settings.flaws.has('half-answer-is-final')
      ? new ClientError('BROKEN_ANSWER', false)
      : new ClientError('CONNECTION_LOST', !settings.signal.aborted)
  })) as Fields
  if (response.ok) return answer
  if (response.status === 401) {
    tokens.refused(token)
    throw new ClientError('AUTHENTICATION_REQUIRED', true)
  }
  const after = response.headers.get('retry-after')
  throw new ClientError(String(answer.code), answer.retryable === true, after === null ? null : Number(after))
}
