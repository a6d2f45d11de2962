// The publication over HTTP: every file byte for byte, to whom, and nothing else.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { LifecycleIndex } from '../../generated/types.ts'
import { call, type ErrorBody } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'

const FOLDER = join(import.meta.dirname, '../../generated/lifecycle-v1')
const FILES = '/api/sdk/v1/schemas'
const SCHEMAS = '/schemas/lifecycle-v1'

/** As it comes: `call` takes a declared body for JSON. */
async function read(url: string, headers: Record<string, string> = {}) {
  const response = await fetch(url, { headers })
  return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() }
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const STRANGE = [
  'index.yaml',
  'openapi',
  '__proto__',
  'constructor',
  '..%2fopenapi.json',
  '..%2f..%2fpackage.json',
  '%2e%2e%2ftypes.ts',
  'JobStatus.json%00',
  '.%2fJobStatus.json',
  '%2fetc%2fpasswd',
]

describe('the publication', () => {
  test('listLifecycleSchemas and getLifecycleSchemaFile: all files, each as its digest says', async () => {
    await using server = await startServer()
    const index = await call<LifecycleIndex>(server, 'GET', FILES)
    assert.equal(index.text, readFileSync(join(FOLDER, 'index.json'), 'utf8'))
    assert.equal(index.headers.etag, `"${sha256(index.text)}"`)
    assert.deepEqual(['index.json', ...index.body.files.map(({ name }) => name)].sort(), readdirSync(FOLDER).sort())
    for (const { name, content_type, size, sha256: digest } of index.body.files) {
      const { status, text, headers } = await read(`${server.url}${FILES}/${name}`)
      assert.equal(status, 200, name)
      assert.deepEqual([sha256(text), Buffer.byteLength(text)], [digest, size], name)
      assert.equal(headers['content-type'], `${content_type}; charset=utf-8`, name)
      assert.deepEqual([headers.etag, headers['cache-control']], [`"${digest}"`, 'no-cache'], name)
    }
    assert.equal((await call(server, 'GET', `${FILES}/index.json`)).text, index.text)
  })

  test('getLifecycleSchema: the schemas alone, each where its id says', async () => {
    await using server = await startServer()
    const { body } = await call<LifecycleIndex>(server, 'GET', FILES)
    for (const { name, sha256: digest } of body.files) {
      const { status, text, body: file } = await call<{ $id?: string }>(server, 'GET', `${SCHEMAS}/${name}`)
      const isSchema = /^[A-Z]\w*\.json$/.test(name)
      assert.equal(status, isSchema ? 200 : 404, name)
      if (isSchema) assert.deepEqual([sha256(text), file.$id], [digest, `${SCHEMAS}/${name}`], name)
    }
  })

  test('is not sent to whoever has it', async () => {
    await using server = await startServer()
    for (const path of [FILES, `${FILES}/types.d.ts`, `${FILES}/JobStatus.json`, `${SCHEMAS}/JobStatus.json`]) {
      const { headers } = await read(server.url + path)
      const again = await read(server.url + path, { 'If-None-Match': headers.etag! })
      assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', headers.etag], path)
      const other = await read(server.url + path, { 'If-None-Match': '"other"' })
      assert.equal(other.status, 200, path)
    }
  })

  test('has no file beyond its index', async () => {
    await using server = await startServer()
    for (const name of STRANGE) {
      const file = await call<ErrorBody & { code: string }>(server, 'GET', `${FILES}/${name}`)
      assert.deepEqual([file.status, file.body.code, file.body.error.type], [404, 'NOT_FOUND', 'not_found'], name)
      const schema = await call<ErrorBody>(server, 'GET', `${SCHEMAS}/${name}`)
      assert.deepEqual([schema.status, schema.body.error.type], [404, 'not_found'], name)
    }
  })

  test('does not depend on the switch of the profile', async () => {
    await using server = await startServer({ environment: { SVC_DISABLE_SDK_LIFECYCLE_V1: '1' } })
    for (const path of [FILES, `${FILES}/openapi.json`, `${SCHEMAS}/JobEvent.json`])
      assert.equal((await call(server, 'GET', path)).status, 200, path)
  })

  test('shows its schemas to everybody, and the rest to callers', async () => {
    await using server = await startServer({ environment: { SVC_TRUST_LOCALHOST: 'false' } })
    assert.equal((await call(server, 'GET', `${SCHEMAS}/JobEvent.json`)).status, 200)
    for (const path of [FILES, `${FILES}/JobEvent.json`]) assert.equal((await call(server, 'GET', path)).status, 401)
  })
})
