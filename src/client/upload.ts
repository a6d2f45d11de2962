// Uploads into temporary storage: one file as multipart, sent again only where the server refused it and the bytes are still there.
import type { TemporaryAssetUpload } from '../../generated/types.ts'
import { errorOfBody } from './error-answer.ts'
import { invalidAnswer, networkError, type ServiceError } from './errors.ts'
import { asksTooLong, delayAfter, type Settings } from './settings.ts'
import type { Tokens } from './tokens.ts'
import { sourceOf, type UploadSource } from './upload-source.ts'
import { isRecord } from './values.ts'
import { anyOf, sleep, unlessAborted } from './waiting.ts'

export interface UploadProgress {
  /** Bytes of the file that were handed to the network. */
  sent: number
  /** Bytes of the whole file, or null where a stream does not say. */
  total: number | null
}

export interface UploadOptions {
  /** The file's name. Absent: that of a `File`, else `upload`. */
  name?: string
  /** Its MIME type. Absent: that of a `Blob`, else `application/octet-stream`. */
  content_type?: string
  /** What it throws ends the upload, and is handed on. */
  onProgress?: (progress: UploadProgress) => void
  /** Aborting it ends the upload; nothing is left in the store. */
  signal?: AbortSignal
}

/** A file on its way. */
export interface Upload {
  readonly url: string
  readonly source: Blob | AsyncIterable<Uint8Array>
  readonly size: number | null
  readonly name: string
  readonly content_type: string
  readonly onProgress: (progress: UploadProgress) => void
  readonly signal: AbortSignal
  readonly fetch: (request: Request) => Promise<Response>
}

export interface UploadAnswer {
  readonly status: number
  readonly headers: Pick<Headers, 'get'>
  /** Parsed where it is JSON. */
  readonly body: unknown
}

/** Sends the file once; rejects where no answer came. */
export type SendUpload = (upload: Upload, token: string | null) => Promise<UploadAnswer>

export interface UploadParts {
  readonly settings: Settings
  readonly tokens: Tokens
  readonly send: SendUpload
}

/** Uploads `source`. @throws ServiceError with the code that the server gave, or `NETWORK_ERROR`; what the source or `onProgress` throws */
export async function upload(
  source: UploadSource,
  options: UploadOptions,
  parts: UploadParts,
): Promise<TemporaryAssetUpload> {
  /** Aborted with what a function of the caller's throws: that is the end, whatever the network makes of it. */
  const own = new AbortController()
  const { signal, done } = anyOf(own.signal, options.signal)
  try {
    return await uploaded(fileOf(source, options, parts.settings, { own, signal }), parts)
  } finally {
    done()
  }
}

async function uploaded(file: Upload, { settings, tokens, send }: UploadParts): Promise<TemporaryAssetUpload> {
  let renewed = !tokens.renewable
  for (let attempt = 1; ; attempt++) {
    file.signal.throwIfAborted()
    const token = await tokens.current(file.signal)
    const { status, headers, body } = await send(file, token).catch((cause: unknown) => {
      file.signal.throwIfAborted()
      throw networkError('The upload did not arrive, or its answer did not.', cause)
    })
    file.signal.throwIfAborted()
    if (status < 300 && isRecord(body)) return body as unknown as TemporaryAssetUpload
    if (status < 300) throw invalidAnswer(`The answer ${status} to an upload is no record.`)
    const error = errorOfBody(status, body, headers)
    if (status === 401 && !renewed) {
      renewed = true
      await unlessAborted(tokens.renew(token), file.signal)
      if (file.source instanceof Blob) continue
    }
    if (!mayRepeat(file, error, settings) || attempt >= settings.backoff.attempts) throw error
    await sleep(Math.max(error.retry_after_ms ?? 0, delayAfter(settings.backoff, attempt - 1)), file.signal)
  }
}

function mayRepeat({ source }: Upload, error: ServiceError, { times }: Settings): boolean {
  return source instanceof Blob && error.status === 429 && !asksTooLong(error, times)
}

function fileOf(
  given: UploadSource,
  options: UploadOptions,
  settings: Settings,
  { own, signal }: { own: AbortController; signal: AbortSignal },
): Upload {
  const source = sourceOf(given, (error) => own.abort(error))
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
