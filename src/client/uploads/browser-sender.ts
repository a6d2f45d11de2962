// Uploads in browsers by XMLHttpRequest, which alone reports progress there. Where it is missing, as in service workers, by `fetch`.
import { parseJsonOrNull, toUploadResponse } from './node-sender.ts'
import type { UploadRequest, UploadResponse, UploadSender } from './upload.ts'

/** The part of XMLHttpRequest that is used here. */
interface XmlHttpRequest {
  readonly status: number
  readonly responseText: string
  readonly upload: { onprogress: ((event: { loaded: number }) => void) | null }
  onload: (() => void) | null
  onerror: (() => void) | null
  onabort: (() => void) | null
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  getResponseHeader(name: string): string | null
  send(body: FormData): void
  abort(): void
}

const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => XmlHttpRequest }

export const sendUploadAsForm: UploadSender = async (file, token) => {
  const blob = await readIntoBlob(file)
  const form = new FormData()
  form.append('file', new Blob([blob], { type: file.content_type }), file.name)
  const total = blob.size
  const answer = await (XMLHttpRequest
    ? sendFormByXmlHttpRequest(new XMLHttpRequest(), file, form, token, (loaded) => {
        file.onProgress({ sent: Math.min(loaded, total), total })
      })
    : sendFormByFetch(file, form, token))
  file.onProgress({ sent: total, total })
  return answer
}

/** Browsers send streams only over HTTP/2, so a stream is read into memory first. */
async function readIntoBlob({ source }: UploadRequest): Promise<Blob> {
  if (source instanceof Blob) return source
  const parts: Uint8Array[] = []
  for await (const part of source) parts.push(part)
  return new Blob(parts as Uint8Array<ArrayBuffer>[])
}

async function sendFormByFetch(file: UploadRequest, body: FormData, token: string | null): Promise<UploadResponse> {
  const headers: Record<string, string> = token === null ? {} : { Authorization: `Bearer ${token}` }
  return toUploadResponse(
    await file.fetch(new Request(file.url, { method: 'POST', headers, body, signal: file.signal })),
  )
}

function sendFormByXmlHttpRequest(
  request: XmlHttpRequest,
  file: UploadRequest,
  form: FormData,
  token: string | null,
  onSent: (bytes: number) => void,
): Promise<UploadResponse> {
  const abort = () => request.abort()
  file.signal.addEventListener('abort', abort)
  return new Promise<UploadResponse>((resolve, reject) => {
    request.open('POST', file.url)
    if (token !== null) request.setRequestHeader('Authorization', `Bearer ${token}`)
    request.upload.onprogress = ({ loaded }) => onSent(loaded)
    request.onload = () => {
      const headers = { get: (name: string) => request.getResponseHeader(name) }
      resolve({ status: request.status, headers, body: parseJsonOrNull(request.responseText) })
    }
    request.onerror = () => reject(new TypeError('The request failed.'))
    request.onabort = () => reject(file.signal.reason ?? new TypeError('The request was aborted.'))
    request.send(form)
  }).finally(() => file.signal.removeEventListener('abort', abort))
}
