// Tests the switch of the preview. Without it, its paths and commands answer like unknown ones, byte for byte; with the kill switch they
// answer that they are disabled; and the documents of a server describe what it serves.
import assert from 'node:assert/strict'
import { request as send } from 'node:http'
import { describe, test } from 'node:test'
import { commandManifest } from '../../generated/messages.ts'
import { operationManifest } from '../../generated/operations.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { PREVIEW, post, refusedWith, type SdkErrorBody } from './jobs-kit.ts'

const operations = operationManifest.filter(({ preview }) => preview)
const commands = Object.values(commandManifest.ws).filter(({ preview }) => preview)
const SUBMISSION = {
  client_request_id: 'a',
  idempotency_key: 'k',
  workflow_id: 'example_greeting',
  workflow_etag: 'x',
  interface_version: 1,
}
const DATA: Readonly<Record<string, object>> = {
  submit_job: SUBMISSION,
  get_job_snapshot: { job_id: 'x' },
  subscribe_job: { job_id: 'x', after_sequence: 0 },
  request_job_cancellation: { job_id: 'x' },
}

/** Returns the whole answer: status line, headers in their order, body; without the parts that differ between any two answers. */
function answered({ url }: TestServer, method: string, path: string, body: string | null): Promise<string> {
  const headers = { 'X-Request-Id': 'the-same', ...(body === null ? {} : { 'Content-Type': 'application/json' }) }
  return new Promise((resolve, reject) => {
    const request = send(`${url}${path}`, { method, headers, agent: false }, (response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () => {
        const raw = response.rawHeaders.filter((_, at, all) => !/^date$/i.test(all[at - (at % 2)]!))
        resolve(JSON.stringify([response.statusCode, response.statusMessage, raw, Buffer.concat(chunks).toString()]))
      })
    })
    request.on('error', reject)
    request.end(body)
  })
}

describe('without the preview', () => {
  test('its operations answer like unknown paths', async () => {
    await using server = await startServer()
    assert.deepEqual(operations.map(({ operationId }) => operationId).sort(), [
      'getJobSnapshot',
      'requestJobCancellation',
      'submitJob',
    ])
    for (const { path, method } of operations) {
      for (const [verb, body] of [
        [method.toUpperCase(), method === 'get' ? null : JSON.stringify(SUBMISSION)],
        ['DELETE', null],
        ['POST', '{'],
      ] as const) {
        const there = path.replace('{job_id}', 'job_1')
        const nowhere = there.replace('/jobs', '/jobz')
        assert.equal(await answered(server, verb, there, body), await answered(server, verb, nowhere, body), there)
      }
    }
  })

  test('its commands answer like unknown commands, with and without a request id, valid or not', async () => {
    await using server = await startServer()
    await using client = await connect(server, { mode: 'text' })
    const raw: string[] = []
    client.ws.on('message', (data: Buffer) => raw.push(data.toString()))
    assert.deepEqual(commands.map(({ command }) => command as string).sort(), Object.keys(DATA).sort())
    for (const { command } of commands) {
      const unknown = command.replace('job', 'jub')
      for (const data of [DATA[command], {}, { job_id: 7 }, undefined]) {
        for (const more of [{ request_id: 'r' }, {}, { request_id: null }]) {
          raw.length = 0
          client.send({ command, data, ...more })
          client.send({ command: unknown, data, ...more })
          const [of, nobodys] = await until('both answers', () => raw.length >= 2 && [raw[0]!, raw[1]!])
          assert.equal(of.replaceAll(command, unknown), nobodys)
          assert.match(of, /There is no command/)
        }
      }
    }
  })

  test('the documents call them planned', async () => {
    await using server = await startServer()
    for (const path of ['/openapi.json', '/asyncapi.json']) {
      const { text } = await call(server, 'GET', path)
      assert.ok(!text.includes('"x-svc-implementation":"preview"'), path)
    }
  })
})

describe('with the preview', () => {
  test('the documents of the server call what it serves a preview, and nothing else', async () => {
    await using server = await startServer({ environment: PREVIEW })
    const { body } = await call<Documents>(server, 'GET', '/openapi.json')
    const marked = Object.values(body.paths).flatMap((item) =>
      Object.values(item).filter((one) => one['x-svc-implementation'] === 'preview'),
    )
    assert.deepEqual(
      marked.map(({ operationId }) => operationId).sort(),
      operations.map(({ operationId }) => operationId as string).sort(),
    )
    const { body: sockets } = await call<Documents>(server, 'GET', '/asyncapi.json')
    const messages = Object.entries(sockets.channels.ws!.messages).filter(
      ([, one]) => one['x-svc-implementation'] === 'preview',
    )
    assert.deepEqual(
      messages.map(([name]) => name).sort(),
      [...Object.keys(DATA), ...Object.keys(DATA).map((name) => `${name}_response`), 'job_event'].sort(),
    )
    const told = Object.entries(sockets.operations).filter(([, one]) => one['x-svc-implementation'] === 'preview')
    assert.deepEqual(told.map(([name]) => name).sort(), [...Object.keys(DATA), 'sendJobEvents'].sort())
    // A subscription may end with this event.
    const names = sockets.operations.sendJobEvents!.messages.map(({ $ref }) => $ref.split('/').at(-1))
    assert.deepEqual(names, ['job_event', 'command_refused'])
  })

  test('a server whose preview is disabled says so, in the order of the checks', async () => {
    await using server = await startServer({ environment: { ...PREVIEW, SVC_DISABLE_SDK_LIFECYCLE_V1: '1' } })
    for (const { path, method, operationId } of operations) {
      const there = path.replace('{job_id}', 'job_1')
      const { status, body } = await call<SdkErrorBody>(server, method.toUpperCase(), there, {
        ...(method === 'get' ? {} : { raw: '{' }),
      })
      assert.deepEqual([status, body.code, body.retryable], [503, 'SDK_LIFECYCLE_DISABLED', false], operationId)
      assert.equal((await call(server, 'PUT', there)).status, 405)
      const refused = await call(server, method.toUpperCase(), there, { headers: { Origin: 'http://evil.com' } })
      assert.equal(refused.status, 401)
    }
    await using client = await connect(server)
    for (const { command } of commands) {
      for (const data of [DATA[command], { job_id: 7 }]) {
        const { error } = await client.ask(command, data)
        assert.equal((error as { code: string }).code, 'SDK_LIFECYCLE_DISABLED', command)
      }
    }
  })

  test('a submission is checked by its content type, then its schema, then the stored data', async () => {
    await using server = await startServer({ environment: PREVIEW })
    const typed = await call<SdkErrorBody>(server, 'POST', '/api/sdk/v1/jobs', {
      raw: '{',
      headers: { 'Content-Type': 'text/plain' },
    })
    assert.deepEqual([typed.status, typed.body.code], [415, 'UNSUPPORTED_MEDIA_TYPE'])
    await refusedWith(server, { ...SUBMISSION, interface_version: 2 }, 'INVALID_REQUEST')
    const { status, body } = await post<SdkErrorBody>(server, { ...SUBMISSION, workflow_id: 'wf_none' })
    assert.deepEqual([status, body.code], [404, 'WORKFLOW_NOT_FOUND'])
  })
})

interface Documents {
  paths: Record<string, Record<string, { operationId?: string; 'x-svc-implementation'?: string }>>
  channels: Record<string, { messages: Record<string, { 'x-svc-implementation': string }> }>
  operations: Record<string, { 'x-svc-implementation': string; messages: { $ref: string }[] }>
}
