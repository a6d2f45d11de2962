// Well-formed and malformed multipart/form-data files, and the contents of a server's temporary store.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import type { TemporaryFileUpload } from '../../src/assets/temporary/store.ts'
import { filesOf } from '../assets/kit.ts'

export const UPLOADS = '/api/sdk/v1/assets/temporary'
export const BOUNDARY = 'the-boundary'
export const FORM_TYPE = `multipart/form-data; boundary=${BOUNDARY}`

/** The head of a part. */
export function partHead(
  disposition = 'name="file"; filename="note.txt"',
  more = 'Content-Type: text/plain\r\n',
): string {
  return `--${BOUNDARY}\r\nContent-Disposition: form-data; ${disposition}\r\n${more}\r\n`
}

export const END = `\r\n--${BOUNDARY}--\r\n`

/** A request with a file. */
export function fileForm(content: string, disposition?: string, more?: string) {
  return { headers: { 'Content-Type': FORM_TYPE }, raw: `${partHead(disposition, more)}${content}${END}` }
}

/** A request with fields, and after them a file, if given. */
export function fieldsForm(
  fields: Readonly<Record<string, string>>,
  file?: { content: string; filename?: string; type?: string },
) {
  const parts = Object.entries(fields).map(([name, value]) => `${partHead(`name="${name}"`, '')}${value}\r\n`)
  if (file) {
    const { content, filename = 'note.txt', type = 'text/plain' } = file
    parts.push(`${partHead(`name="file"; filename="${filename}"`, `Content-Type: ${type}\r\n`)}${content}\r\n`)
  }
  return { headers: { 'Content-Type': FORM_TYPE }, raw: `${parts.join('')}--${BOUNDARY}--\r\n` }
}

/** A file for the store itself. */
export function given(content: string | Uint8Array, more: Partial<TemporaryFileUpload> = {}): TemporaryFileUpload {
  return { name: null, content_type: null, bytes: pieces(Buffer.from(content)), ...more }
}

async function* pieces(...all: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* all
}

/** Names of files in the temporary store, complete or not. */
export function temporaryFiles({ data_dir }: { readonly data_dir: string }): string[] {
  const folder = join(data_dir, 'temporary')
  return existsSync(folder) ? filesOf(folder) : []
}
