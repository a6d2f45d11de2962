// Multipart bodies.
import type { SuiteRequest } from './target-server.ts'

/** Creates a form of files. Its boundary has to be quoted. */
export function createMultipartForm(parts: readonly [name: string, filename: string, bytes: Buffer][]): SuiteRequest {
  const boundary = 'conformance boundary:1'
  const chunks = parts.flatMap(([name, filename, bytes]) => [
    Buffer.from(`--${boundary}\r\nContent-Disposition: form-data; name="${name}"; filename="${filename}"\r\n`),
    Buffer.from('Content-Type: text/plain\r\n\r\n'),
    bytes,
    Buffer.from('\r\n'),
  ])
  const raw = Buffer.concat([...chunks, Buffer.from(`--${boundary}--\r\n`)])
  return { raw, content_type: `multipart/form-data; boundary="${boundary}"` }
}
