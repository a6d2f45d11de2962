// Uploads by `fetch` with a stream as the body. Node reads the stream as the network accepts it, so the bytes read are the bytes sent.

import { createUuid } from '../json-and-uuid.ts'
import type { UploadRequest, UploadResponse, UploadSender } from './upload.ts'

export const sendUploadAsStream: UploadSender = async (file, token) => {
  const boundary = `svc-${createUuid()}`
  const request = new Request(file.url, {
    method: 'POST',
    headers: {
      'Content-Type': `multipart/form-data; boundary=${boundary}`,
      ...(token === null ? {} : { Authorization: `Bearer ${token}` }),
    },
    body: toReadableStream(encodeMultipart(file, boundary)),
    signal: file.signal,
    duplex: 'half',
  } as RequestInit)
  return toUploadResponse(await file.fetch(request))
}

export async function toUploadResponse(response: Response): Promise<UploadResponse> {
  const { ok, status, headers } = response
  // An error status counts even where its body is lost. A success needs its body.
  const text = await response.text().catch((cause: unknown) => {
    if (ok) throw cause
    return ''
  })
  return { status, headers, body: parseJsonOrNull(text) }
}

/** Parses a text as JSON. Null where it is not valid JSON. */
export function parseJsonOrNull(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return null
  }
}

async function* encodeMultipart(file: UploadRequest, boundary: string): AsyncGenerator<Uint8Array, void, void> {
  const text = new TextEncoder()
  const disposition = `form-data; name="file"; filename="${escapeFileName(file.name)}"`
  const type = file.content_type.replace(/[\r\n]/g, ' ')
  yield text.encode(`--${boundary}\r\nContent-Disposition: ${disposition}\r\nContent-Type: ${type}\r\n\r\n`)
  let sent = 0
  for await (const chunk of toChunks(file.source)) {
    yield chunk
    sent += chunk.byteLength
    file.onProgress({ sent, total: file.size })
  }
  yield text.encode(`\r\n--${boundary}--\r\n`)
}

/** Escapes a file name for multipart (WHATWG HTML, section 4.10.21.8). */
function escapeFileName(name: string): string {
  return name.replace(/\r\n|\r|\n/g, '%0D%0A').replaceAll('"', '%22')
}

function toChunks(source: UploadRequest['source']): AsyncIterable<Uint8Array> {
  return (source instanceof Blob ? source.stream() : source) as AsyncIterable<Uint8Array>
}

function toReadableStream(chunks: AsyncGenerator<Uint8Array, void, void>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next()
        if (done) controller.close()
        else controller.enqueue(value)
      },
      async cancel() {
        await chunks.return()
      },
    },
    { highWaterMark: 0 },
  )
}
