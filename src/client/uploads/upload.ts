// Uploads one file as multipart into temporary storage. It is sent again only where the server refused it and the bytes can be read again.
import type { TemporaryAssetUpload } from '../../../generated/types.ts'
import { combineSignals, raceAbort, sleep } from '../abortable-waits.ts'
import { backoffDelayMs, isRetryAfterTooLong, type ResolvedClientOptions } from '../client-options.ts'
import { parseServiceError } from '../error-response.ts'
import { invalidAnswerError, networkError, type ServiceError } from '../errors.ts'
import { isRecord } from '../json-and-uuid.ts'
import type { TokenSource } from '../token-source.ts'
import { normalizeUploadSource, type UploadSource } from './source.ts'

export interface UploadProgress {
  /** Bytes of the file that were passed to the network. */
  sent: number
  /** Bytes of the whole file. Null where a stream has no known length. */
  total: number | null
}

export interface UploadOptions {
  /** The file's name. Absent: that of a `File`, else `upload`. */
  name?: string
  /** The MIME type. Absent: that of a `Blob`, else `application/octet-stream`. */
  content_type?: string
  /** Its error ends and rejects the upload. */
  onProgress?: (progress: UploadProgress) => void
  /** Aborting it ends the upload. Nothing is stored then. */
  signal?: AbortSignal
}

/** A file to send. */
export interface UploadRequest {
  readonly url: string
  readonly source: Blob | AsyncIterable<Uint8Array>
  readonly size: number | null
  readonly name: string
  readonly content_type: string
  readonly onProgress: (progress: UploadProgress) => void
  readonly signal: AbortSignal
  readonly fetch: (request: Request) => Promise<Response>
}

export interface UploadResponse {
  readonly status: number
  readonly headers: Pick<Headers, 'get'>
  /** The JSON value, where the body is JSON. */
  readonly body: unknown
}

/** Sends the file once. Rejects where no answer came. */
export type UploadSender = (upload: UploadRequest, token: string | null) => Promise<UploadResponse>

export interface UploadParts {
  readonly settings: ResolvedClientOptions
  readonly tokens: TokenSource
  readonly send: UploadSender
}

/** Uploads `source`. @throws ServiceError with the server's code, or `NETWORK_ERROR`; the error of the source or of `onProgress` */
export async function uploadFile(
  source: UploadSource,
  options: UploadOptions,
  parts: UploadParts,
): Promise<TemporaryAssetUpload> {
  /** Aborts with the error of a caller's function, which then decides the outcome. */
  const own = new AbortController()
  const { signal, done } = combineSignals(own.signal, options.signal)
  try {
    return await sendUntilAccepted(createUploadRequest(source, options, parts.settings, { own, signal }), parts)
  } finally {
    done()
  }
}

async function sendUntilAccepted(
  file: UploadRequest,
  { settings, tokens, send }: UploadParts,
): Promise<TemporaryAssetUpload> {
  let renewed = !tokens.isRenewable
  for (let attempt = 1; ; attempt++) {
    file.signal.throwIfAborted()
    const token = await tokens.current(file.signal)
    const { status, headers, body } = await send(file, token).catch((cause: unknown) => {
      file.signal.throwIfAborted()
      throw networkError('The upload or its answer was lost.', cause)
    })
    file.signal.throwIfAborted()
    if (status < 300 && isRecord(body)) return body as unknown as TemporaryAssetUpload
    if (status < 300) throw invalidAnswerError(`The answer ${status} to an upload is not a JSON object.`)
    const error = parseServiceError(status, body, headers)
    if (status === 401 && !renewed) {
      renewed = true
      await raceAbort(tokens.renew(token), file.signal)
      if (file.source instanceof Blob) continue
    }
    if (!canRepeat(file, error, settings) || attempt >= settings.backoff.attempts) throw error
    await sleep(Math.max(error.retry_after_ms ?? 0, backoffDelayMs(settings.backoff, attempt - 1)), file.signal)
  }
}

function canRepeat({ source }: UploadRequest, error: ServiceError, { times }: ResolvedClientOptions): boolean {
  return source instanceof Blob && error.status === 429 && !isRetryAfterTooLong(error, times)
}

function createUploadRequest(
  given: UploadSource,
  options: UploadOptions,
  settings: ResolvedClientOptions,
  { own, signal }: { own: AbortController; signal: AbortSignal },
): UploadRequest {
  const source = normalizeUploadSource(given, (error) => own.abort(error))
  const blob = source instanceof Blob ? source : null
  const named = blob as { name?: unknown } | null
  return {
    url: `${settings.url}/api/sdk/v1/assets/temporary`,
    source,
    size: blob?.size ?? null,
    name: options.name ?? (typeof named?.name === 'string' && named.name !== '' ? named.name : 'upload'),
    content_type: options.content_type ?? (blob?.type || 'application/octet-stream'),
    onProgress(progress) {
      try {
        options.onProgress?.(progress)
      } catch (error) {
        own.abort(error)
      }
    },
    signal,
    fetch: settings.fetch,
  }
}
