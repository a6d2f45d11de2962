// The limit on what surrounds the file of a form holds wherever the form is split into chunks.
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { FormFields } from '../../../../src/http/body/multipart/form-fields.ts'
import { FormParser } from '../../../../src/http/body/multipart/form-parser.ts'
import type { UploadStallDetector } from '../../../../src/net/upload-stall-detector.ts'

const MOST = 262_144
const field = (name: string) => `--b\r\nContent-Disposition: form-data; name="${name}"\r\n\r\n${'x'.repeat(60_000)}\r\n`
const FORM = Buffer.from(
  `${['a', 'b', 'c', 'd', 'e'].map(field).join('')}--b\r\nContent-Disposition: form-data; name="file"; filename="f"\r\n\r\nbytes\r\n--b--\r\n`,
)

function parserOf(chunks: readonly Buffer[]): FormParser {
  const incoming = Object.assign(Readable.from(chunks, { objectMode: false }), {
    headers: { 'content-type': 'multipart/form-data; boundary=b' },
  })
  const pace = { watch: () => ({ [Symbol.dispose]() {} }) } as unknown as UploadStallDetector
  const limits = { largest: 1_000, pace, confirm: async () => {}, max_envelope_bytes: MOST, fields: new FormFields() }
  return new FormParser(incoming as unknown as IncomingMessage, limits)
}

for (const [how, size] of [
  ['whole', FORM.length],
  ['at the beginning of its last field', 240_400],
  ['into small chunks', 1_000],
] as const)
  test(`fields that are too long together are refused before the file, where the form comes ${how}`, async () => {
    const chunks = Array.from({ length: Math.ceil(FORM.length / size) }, (_, at) =>
      FORM.subarray(at * size, (at + 1) * size),
    )
    await assert.rejects(parserOf(chunks).file, { code: 'UPLOAD_TOO_LARGE' })
  })
