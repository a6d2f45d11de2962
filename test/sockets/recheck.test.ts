// Sockets and streams whose credential ends while they are open: they end soon after, and running jobs continue.
import assert from 'node:assert/strict'
import { get, type IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'
import { AUTH_UNAVAILABLE, type AuthVerdict, admitPrincipal } from '../../src/access/auth-verdict.ts'
import { LOCAL_PRINCIPAL, type TokenScope } from '../../src/access/principal.ts'
import { systemPlatform } from '../../src/platform.ts'
import { call } from '../helpers/http.ts'
import { type TestServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { gated, greeting, newId, startBench } from './kit.ts'
import { gatewayWith } from './raw.ts'

const soon = { recheck_ms: 50 }
const ENDED = { code: 1008, reason: 'the credential is no longer valid' }

function mint(server: TestServer, expires_at?: string, scopes: TokenScope[] = ['read', 'write']) {
  return server.context.access.tokens.access.mint(LOCAL_PRINCIPAL, { name: 'a program', scopes, expires_at })
}

const bearer = (token: string) => ({ Authorization: `Bearer ${token}` })

describe('a socket', () => {
  test('is closed with 1008 soon after its token was revoked; its jobs run on, and others stay', async () => {
    await using bench = await startBench({ socket_times: soon })
    const { server, gates } = bench
    const [gone, kept] = [await mint(server), await mint(server)]
    await using revoked = await connect(server, { headers: bearer(gone.token) })
    await using byQuery = await connect(server, { path: `/ws?api_key=${gone.token}` })
    await using other = await connect(server, { headers: bearer(kept.token) })
    await using local = await connect(server)
    assert.equal(server.context.access.rechecker.size, 3)
    const job_id = newId()
    revoked.command('run_job', { job_id, graph: gated(job_id) })
    await gates.at(job_id)
    const { status } = await call(server, 'DELETE', `/api/tokens/${gone.id}`)
    assert.equal(status, 204)
    assert.deepEqual(await revoked.closed(), ENDED)
    assert.deepEqual(await byQuery.closed(), ENDED)
    await until('the others alone', () => server.context.access.rechecker.size === 1)
    assert.equal((await local.ask('get_status', { job_id })).status, 'running')
    assert.equal((await other.ask('get_status', { job_id })).status, 'running')
    await gates.open(job_id)
    await until('the end', async () => (await local.ask('get_status', { job_id })).status === 'completed')
  })

  test('is closed when its token has expired', async () => {
    let now = Date.now()
    const clock = { now: () => now, timestamp: () => new Date(now).toISOString() }
    await using bench = await startBench({ socket_times: soon, platform: { ...systemPlatform(), ...clock } })
    const { server } = bench
    const { token } = await mint(server, new Date(now + 5_000).toISOString())
    await using client = await connect(server, { headers: bearer(token) })
    await using visitor = await connect(server, {
      path: `/ws?api_key=${server.context.access.tokens.signed.issueAppSession({ app_id: 'a', visitor_id: 'v', workspace_id: null })}`,
    })
    now += 4_999
    await client.settled()
    now += 1
    assert.deepEqual(await client.closed(), ENDED)
    assert.ok(visitor.open)
    now += 3_600_000
    assert.deepEqual(await visitor.closed(), ENDED)
  })

  test('of a local caller is not rechecked, even if it sent an invalid token', async () => {
    await using bench = await startBench({ socket_times: soon })
    await using _local = await connect(bench.server)
    await using client = await connect(bench.server, { headers: bearer('ntk_unknown') })
    await client.settled()
    assert.equal(bench.server.context.access.rechecker.size, 0)
  })

  test('that is closed by its client is not watched any more', async () => {
    await using bench = await startBench({ socket_times: soon })
    const { token } = await mint(bench.server)
    await using client = await connect(bench.server, { headers: bearer(token) })
    assert.equal(bench.server.context.access.rechecker.size, 1)
    client.close()
    await until('nobody', () => bench.server.context.access.rechecker.size === 0)
  })

  test('whose client does not answer the close is cut off', async () => {
    await using bench = await startBench({ socket_times: { ...soon, close_timeout_ms: 50 } })
    const { id, token } = await mint(bench.server)
    await using client = await connect(bench.server, { headers: bearer(token) })
    client.ws.pause()
    await bench.server.context.access.tokens.access.revoke(LOCAL_PRINCIPAL, id)
    await until('the end at the server', () => bench.server.context.access.rechecker.size === 0)
    client.ws.resume()
    await client.closed()
  })

  test('loses rights with its token, and keeps them in an outage', async () => {
    await using bench = await startBench()
    const person = { ...LOCAL_PRINCIPAL, trusted_as: 'identity_provider' } as const
    let verdict: AuthVerdict = admitPrincipal(person)
    let asked = 0
    const gate = () => {
      asked++
      return Promise.resolve(verdict)
    }
    await using door = await gatewayWith(bench.server.context, gate, soon)
    await using client = await connect(door)
    const again = async () => {
      const before = asked
      await until('another look', () => asked > before + 1)
    }
    await again()
    assert.equal((await client.ask('get_status')).error, undefined)
    verdict = AUTH_UNAVAILABLE
    await again()
    await client.settled()
    verdict = admitPrincipal({ ...person, scopes: ['read'] })
    await again()
    const job_id = newId()
    client.command('run_job', { job_id, graph: greeting })
    assert.match(String((await client.next({ job_id })).error), /lacks the scope "write"/)
    verdict = admitPrincipal({ ...person, workspace_id: 'other' })
    assert.deepEqual(await client.closed(), ENDED)
  })
})

describe('a stream of events', () => {
  const follow = (server: TestServer, job_id: string, token: string): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const request = get(`${server.url}/api/jobs/${job_id}/events`, { headers: bearer(token) }, resolve)
      request.once('error', reject)
    })

  test('ends soon after its token was revoked, without a cut event, and the job runs on', async () => {
    await using bench = await startBench({ socket_times: soon })
    const { server, gates } = bench
    const { id, token } = await mint(server, undefined, ['read'])
    await using local = await connect(server)
    const job_id = newId()
    local.command('run_job', { job_id, graph: gated(job_id) })
    await gates.at(job_id)
    const stream = await follow(server, job_id, token)
    assert.equal(stream.statusCode, 200)
    let text = ''
    stream.setEncoding('utf8').on('data', (part: string) => {
      text += part
    })
    await until('what has happened', () => text.includes('"running"'))
    assert.equal(server.context.access.rechecker.size, 1)
    await server.context.access.tokens.access.revoke(LOCAL_PRINCIPAL, id)
    await until('the end of the stream', () => stream.readableEnded)
    assert.ok(text.endsWith('\n\n'), 'after a whole event')
    assert.doesNotMatch(text, /job_terminal/)
    assert.equal(server.context.access.rechecker.size, 0)
    await gates.open(job_id)
    assert.equal((await local.collect(job_id)).at(-1)?.status, 'completed')
  })

  test('that ends with its job, or whose client disconnects, is not watched any more', async () => {
    await using bench = await startBench({ socket_times: soon })
    const { server, gates } = bench
    const { token } = await mint(server)
    await using local = await connect(server)
    const job_id = newId()
    local.command('run_job', { job_id, graph: gated(job_id) })
    await gates.at(job_id)
    const left = await follow(server, job_id, token)
    const read = await follow(server, job_id, token)
    assert.equal(server.context.access.rechecker.size, 2)
    left.destroy()
    await until('one', () => server.context.access.rechecker.size === 1)
    await gates.open(job_id)
    read.resume()
    await until('nobody', () => server.context.access.rechecker.size === 0)
  })
})
