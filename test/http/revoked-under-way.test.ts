// Requests whose token is revoked while they are under way: uploads, bodies, waits, completions and downloads. The server checks a token again each
// minute, or by its setting soon; the tests that finish their bodies within that minute reach the check before the commit.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request as send } from 'node:http'
import { describe, test } from 'node:test'
import type { Asset, JobSnapshot } from '../../generated/types.ts'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { createLog } from '../../src/log.ts'
import { bearer } from '../access/token-kit.ts'
import { asking, post, startGateway } from '../completions/kit.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { created, GATED, gate, greeting } from './kit.ts'
import { END, FORM_TYPE, fieldsForm, partHead, temporaryFiles, UPLOADS } from './uploads-kit.ts'

const SOON = { socket_times: { recheck_ms: 20 } }
const KEY = '/api/storage/1/notes/one.txt'

async function mint({ context }: TestServer): Promise<{ id: string; headers: Record<string, string> }> {
  const { id, token } = await context.access.tokens.access.mint(LOCAL_PRINCIPAL, { name: 'under way' })
  return { id, headers: bearer(token) }
}

function revoke({ context }: TestServer, id: string): Promise<void> {
  return context.access.tokens.access.revoke(LOCAL_PRINCIPAL, id)
}

interface Answered {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  readonly text: string
}

const underWay = ({ context }: TestServer) => until('the request', () => context.access.rechecker.size === 1)

/** Sends the first part of a body, revokes the token, and sends the rest; without a rest the body stays unfinished. */
async function interrupted(
  server: TestServer,
  method: string,
  path: string,
  { type, parts: [first, rest] }: { type: string; parts: [string, string | null] },
): Promise<Answered> {
  const { id, headers } = await mint(server)
  const outgoing = send(`${server.url}${path}`, { method, headers: { ...headers, 'Content-Type': type } })
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  outgoing.write(first)
  await underWay(server)
  await revoke(server, id)
  if (rest !== null) outgoing.end(rest)
  const [incoming] = await answered
  const text = Buffer.concat(await incoming.toArray()).toString()
  outgoing.on('error', () => {})
  if (rest === null && !outgoing.destroyed) await once(outgoing, 'close')
  return { status: incoming.statusCode!, headers: incoming.headers, text }
}

function assertRefused({ status, headers, text }: Answered): void {
  assert.equal(status, 401, text)
  assert.deepEqual(JSON.parse(text), { error: 'Remote access requires authentication' })
  assert.match(headers['www-authenticate'] ?? '', /error="invalid_token".*was revoked/)
}

for (const [when, rest, settings] of [
  ['is complete after the revocation', 'end', {}],
  ['is never completed', null, SOON],
] as const)
  describe(`a body that ${when} is refused as in a new request, and nothing is stored:`, () => {
    const ended = (text: string) => rest && text

    test('an object by its key', async () => {
      await using server = await startServer(settings)
      await call(server, 'PUT', KEY, { raw: 'before' })
      const parts: [string, string | null] = ['after', ended('wards')]
      assertRefused(await interrupted(server, 'PUT', KEY, { type: 'text/plain', parts }))
      assert.equal((await call(server, 'GET', KEY)).text, 'before')
      await until('the end of the watch', () => server.context.access.rechecker.size === 0)
    })

    test('an asset, which would have replaced another one', async () => {
      await using server = await startServer(settings)
      const form = fieldsForm({}, { content: 'precious' })
      const old = (await call<Asset>(server, 'POST', '/api/assets', form)).body
      const head = `${partHead('name="replaces"', '')}${old.id}\r\n${partHead()}`
      const parts: [string, string | null] = [`${head}other`, ended(END)]
      assertRefused(await interrupted(server, 'POST', '/api/assets', { type: FORM_TYPE, parts }))
      const { assets } = (await call<{ assets: Asset[] }>(server, 'GET', '/api/assets')).body
      assert.deepEqual(
        assets.map(({ id }) => id),
        [old.id],
      )
    })

    test('a folder', async () => {
      await using server = await startServer(settings)
      const form = `${partHead('name="name"', '')}f\r\n${partHead('name="content_type"', '')}folder`
      const parts: [string, string | null] = [form, ended(END)]
      assertRefused(await interrupted(server, 'POST', '/api/assets', { type: FORM_TYPE, parts }))
      assert.deepEqual((await call<{ assets: Asset[] }>(server, 'GET', '/api/assets')).body.assets, [])
    })

    test('a temporary upload', async () => {
      await using server = await startServer({ environment: { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }, ...settings })
      const parts: [string, string | null] = [`${partHead()}some`, ended(END)]
      assertRefused(await interrupted(server, 'POST', UPLOADS, { type: FORM_TYPE, parts }))
      await until('no file', () => temporaryFiles(server).length === 0)
    })

    test('a workflow', async () => {
      await using server = await startServer(settings)
      const json = JSON.stringify(greeting())
      const parts: [string, string | null] = [json.slice(0, 20), ended(json.slice(20))]
      assertRefused(await interrupted(server, 'POST', '/api/workflows', { type: 'application/json', parts }))
      assert.deepEqual((await call(server, 'GET', '/api/workflows')).body, [])
    })
  })

test('a request whose body arrives with its head is authenticated once', async (t) => {
  await using server = await startServer()
  const { headers } = await mint(server)
  const check = t.mock.method(server.context.access.rechecker, 'check')
  const { status } = await call(server, 'POST', '/api/workflows', { body: greeting(), headers })
  assert.deepEqual([status, check.mock.callCount()], [201, 0])
  const outgoing = send(`${server.url}/api/workflows`, {
    method: 'POST',
    headers: { ...headers, 'Content-Type': 'application/json' },
  })
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  outgoing.flushHeaders()
  await underWay(server)
  outgoing.end(JSON.stringify(greeting()))
  const [incoming] = await answered
  incoming.resume()
  assert.deepEqual([incoming.statusCode, check.mock.callCount()], [201, 1])
})

test('the refusal of a request under way is in the audit log', async () => {
  const lines: string[] = []
  const log = createLog('info', undefined, { write: (line) => lines.push(line) })
  await using server = await startServer({ log })
  await interrupted(server, 'PUT', KEY, { type: 'text/plain', parts: ['a', 'b'] })
  assert.ok(lines.some((line) => line.includes('"token_unknown"') && line.includes('"PUT"')))
})

describe('a run that its client waits for, with a revoked token,', () => {
  for (const [name, settings] of [
    ['is answered soon', SOON],
    ['is answered at its end at the latest', {}],
  ] as const)
    test(`${name} with 401, and goes on`, async () => {
      const { registry, open } = gate()
      await using server = await startServer({ ...settings, registry })
      const { id: workflow_id } = await created(server, GATED)
      const { id, headers } = await mint(server)
      const running = call(server, 'POST', `/api/workflows/${workflow_id}/run`, { body: {}, headers })
      const jobs = async () => (await call<JobSnapshot[]>(server, 'GET', '/api/jobs')).body
      const job = await until('the job', async () => (await jobs()).find(({ status }) => status === 'running'))
      await revoke(server, id)
      if (settings !== SOON) open()
      const { status, text, headers: answered } = await running
      assertRefused({ status, text, headers: answered })
      assert.equal(answered.location, `/api/jobs/${job.job_id}`)
      open()
      await until('the end of the job', async () => (await jobs())[0]?.status === 'completed')
    })
})

describe('a completion that is not streamed, with a revoked token,', () => {
  for (const [name, settings] of [
    ['ends soon', SOON],
    ['is not answered', {}],
  ] as const)
    test(`${name}: 401`, async () => {
      const asked = Promise.withResolvers<void>()
      const opened = Promise.withResolvers<void>()
      const before = () => {
        asked.resolve()
        return opened.promise
      }
      await using gateway = await startGateway({ answer: () => ({ before }) }, settings)
      const { id, headers } = await mint(gateway.server)
      const answering = post(gateway.server, asking(), { headers })
      await asked.promise
      await revoke(gateway.server, id)
      if (settings !== SOON) opened.resolve()
      const { status, text } = await answering
      assert.deepEqual([status, JSON.parse(text)], [401, { error: 'Remote access requires authentication' }])
      opened.resolve()
    })
})

test('a read that waits longer than its token is valid gets 401', async () => {
  await using server = await startServer(SOON)
  const { id, headers } = await mint(server)
  const { workflows } = server.context.runs
  const list = workflows.list.bind(workflows)
  workflows.list = async (...given) => {
    await revoke(server, id)
    await until('the recheck', () => server.context.access.rechecker.size === 0)
    return list(...given)
  }
  const answer = await call(server, 'GET', '/api/workflows', { headers })
  assertRefused(answer)
})

test('a download breaks off', async () => {
  await using server = await startServer(SOON)
  const size = 64 << 20
  await call(server, 'PUT', KEY, { raw: Buffer.alloc(size, 'z') })
  const { id, headers } = await mint(server)
  const outgoing = send(`${server.url}${KEY}`, { headers })
  outgoing.end()
  const [incoming] = (await once(outgoing, 'response')) as [IncomingMessage]
  assert.equal(incoming.statusCode, 200)
  await revoke(server, id)
  await until('the end of the response', () => server.context.access.rechecker.size === 0)
  let read = 0
  incoming.on('data', (piece: Buffer) => {
    read += piece.length
  })
  await assert.rejects(once(incoming, 'end'), { code: 'ECONNRESET' })
  assert.ok(read < size)
})

test('a caller that is trusted by its address has no credential that could end', async () => {
  await using server = await startServer(SOON)
  const outgoing = send(`${server.url}${KEY}`, { method: 'PUT', headers: { Expect: '100-continue' } })
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  outgoing.write('some')
  await once(outgoing, 'continue')
  assert.equal(server.context.access.rechecker.size, 0)
  outgoing.end()
  const [incoming] = await answered
  incoming.resume()
  assert.equal(incoming.statusCode, 201)
})
