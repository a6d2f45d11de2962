// Integers beyond 2^53, over every transport: refused with their path if the service reads them, and unchanged if it passes them on.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import { parseJsonInput } from '../../src/cli/shared/json-input.ts'
import { call, refused } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { connect, type Frame } from '../helpers/socket.ts'
import { startUpstream } from '../helpers/upstream.ts'
import { fieldsForm } from './uploads-kit.ts'

const WIDE = '12345678901234567890'
const JSON_TYPE = { 'Content-Type': 'application/json' }
const INVALID = [400, 'invalid_request'] as [number, string]
/** More than is parsed at once. */
const LARGE = `"${'x'.repeat(300_000)}"`

let server: TestServer
before(async () => {
  server = await startServer()
})
after(() => server[Symbol.asyncDispose]())

describe('an integer beyond 2^53', () => {
  test('is refused in parameters and graphs of small and large bodies', async () => {
    for (const more of ['', `,"more":${LARGE}`]) {
      const run = `{"params":{"name":"Ada","list":[1,${WIDE}]${more}}}`
      const asked = { raw: run, headers: JSON_TYPE }
      assert.deepEqual(await refused(server, 'POST', '/api/workflows/greeting/run', asked, INVALID), [
        '/body/params/list/1',
      ])
      const node = `{"id":"n","type":"constant.Integer","data":{"value":-${WIDE}${more}}}`
      const graph = { raw: `{"name":"Wide","graph":{"nodes":[${node}],"edges":[]}}`, headers: JSON_TYPE }
      assert.deepEqual(await refused(server, 'POST', '/api/workflows', graph, INVALID), [
        '/body/graph/nodes/0/data/value',
      ])
    }
  })

  test('is refused in another encoding as well, and in the metadata of an upload', async () => {
    const raw = Buffer.from(`{"params":{"name":"Ada","n":${WIDE}}}`, 'utf16le')
    const headers = { 'Content-Type': 'application/json; charset=utf-16le' }
    assert.deepEqual(await refused(server, 'POST', '/api/workflows/greeting/run', { raw, headers }, INVALID), [
      '/body/params/n',
    ])
    const form = fieldsForm({ name: 'a.txt', metadata: `{"n":${WIDE}}` }, { content: 'a' })
    assert.deepEqual(await refused(server, 'POST', '/api/assets', form, INVALID), ['/body/metadata/n'])
  })

  test('is found in very long texts, and not searched in unreadable encodings', async () => {
    const raw = `{"params":{"name":"${'x'.repeat(12_000_000)} 1234567890123456"}}`
    const run = await call(server, 'POST', '/api/workflows/greeting/run', { raw, headers: JSON_TYPE })
    assert.equal(run.status, 200)
    const headers = { 'Content-Type': 'application/json; charset=utf-32le' }
    const wide = Buffer.from([...'{"params":{"name":"a"}}'].flatMap((letter) => [letter.charCodeAt(0), 0, 0, 0]))
    const asked = { raw: wide, headers }
    await refused(server, 'POST', '/api/workflows/greeting/run', asked, [415, 'unsupported_media_type'])
  })

  test('is accepted if it is a fraction, or exact', async () => {
    const raw = `{"params":{"name":"${WIDE} 1e999"},"timeout_seconds":60.0}`
    const { status, text } = await call(server, 'POST', '/api/workflows/greeting/run', { raw, headers: JSON_TYPE })
    assert.equal(status, 200, text)
  })

  test('is refused on the socket in JSON and in MessagePack, and the job is not affected', async () => {
    await using client = await connect(server)
    const isRefusal = ({ error }: Frame) => error === 'invalid_command'
    for (const more of ['', `,"more":${LARGE}`]) {
      client.sendRaw(
        `{"command":"run_job","data":{"job_id":"wide","graph":{"nodes":[],"edges":[]},"params":{"n":${WIDE}${more}}}}`,
      )
      const { problems, job_id, code } = await client.next(isRefusal)
      assert.deepEqual([job_id, code], ['wide', 'INVALID_REQUEST'])
      assert.deepEqual(
        (problems as { path: string }[]).map(({ path }) => path),
        ['/data/params/n'],
      )
    }
    const data = { job_id: 'wide', input: 'lines', value: { n: 2n ** 60n } }
    client.sendRaw(encode({ command: 'stream_input', data }, { useBigInt64: true }))
    const { problems } = await client.next(isRefusal)
    assert.deepEqual(
      (problems as { path: string }[]).map(({ path }) => path),
      ['/data/value/n'],
    )
  })

  test('is refused in the terminal', () => {
    assert.throws(() => parseJsonInput(`{"n": ${WIDE}}`), /^JsonTextError: \/n must be between -2\^53 and 2\^53: 1234/)
    assert.deepEqual(parseJsonInput(`{"n": "${WIDE}"}`), { n: WIDE })
  })

  test('is passed on to a model server unchanged', async () => {
    await using upstream = await startUpstream()
    await using gateway = await startServer({ environment: { SVC_MODEL_SERVERS: `up=${upstream.base_url}` } })
    const raw = `{"model":"up/gpt-4o-mini","messages":[{"role":"user","content":"Hi"}],"own":${WIDE}}`
    const { status, text } = await call(gateway, 'POST', '/v1/chat/completions', { raw, headers: JSON_TYPE })
    assert.equal(status, 200, text)
    assert.match(upstream.posts[0]!.raw.toString(), new RegExp(`"own":${WIDE}`))
  })
})
