// uploadTemporaryAsset: a file for a run is stored unchanged, belongs only to its owner, and leaves nothing but its bytes.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { TemporaryAssetUpload } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'
import { END, FORM_TYPE, fileForm, partHead, temporaryFiles, UPLOADS } from './uploads-kit.ts'

describe('uploadTemporaryAsset', () => {
  test('returns a URI that reads as the sent file', async () => {
    await using server = await startServer()
    const { status, body, text } = await call<TemporaryAssetUpload>(server, 'POST', UPLOADS, fileForm('Hello, Ada!'))
    assert.equal(status, 201, text)
    const { uri, expires_at, ...rest } = body
    assert.deepEqual(rest, { version: 1, name: 'note.txt', content_type: 'text/plain; charset=utf-8', size: 11 })
    assert.match(uri, /^\/api\/storage\/temp\/1\/[0-9a-f]{48}\.txt$/)
    const left = Date.parse(expires_at) - Date.now()
    assert.ok(left > 23 * 3_600_000 && left <= 24 * 3_600_000)
    assert.equal((await call(server, 'GET', uri)).text, 'Hello, Ada!')
    assert.equal(temporaryFiles(server).length, 1)
  })

  test('keeps the claimed charset, but prefers the type of the bytes', async () => {
    await using server = await startServer()
    const latin = Buffer.from('caf\xe9', 'latin1')
    for (const [type, bytes, kept] of [
      ['text/plain; charset=ISO-8859-1', latin, 'text/plain; charset=iso-8859-1'],
      ['text/csv;header=present; charset="windows-1252"', latin, 'text/csv; charset=windows-1252'],
      ['text/csv; charset=utf-8', Buffer.from('café'), 'text/csv; charset=utf-8'],
      ['text/plain; charset=UTF-8', Buffer.from('café'), 'text/plain; charset=utf-8'],
      ['text/plain; charset=UTF-8', latin, 'application/octet-stream'],
      ['text/plain', latin, 'application/octet-stream'],
    ] as const) {
      const raw = Buffer.concat([
        Buffer.from(partHead(undefined, `Content-Type: ${type}\r\n`)),
        bytes,
        Buffer.from(END),
      ])
      const request = { headers: { 'Content-Type': FORM_TYPE }, raw }
      const { body, text } = await call<TemporaryAssetUpload>(server, 'POST', UPLOADS, request)
      assert.equal(body.content_type, kept, text)
      assert.equal((await call(server, 'GET', body.uri)).headers['content-type'], kept)
    }
  })
})
