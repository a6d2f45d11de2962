// Workflows that send requests to their own service: these come from its machine, and are treated as a stranger's.
import assert from 'node:assert/strict'
import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'
import { describe, test } from 'node:test'
import WebSocket from 'ws'
import type { CreatedToken, Workflow } from '../../generated/types.ts'
import { createLog } from '../../src/log.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { call } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { bearer } from './token-kit.ts'

const REACHABLE = { SVC_HTTP_NODE_ALLOW: '127.0.0.0/8' }
const REMOTE = { error: 'Remote access requires authentication' }
const ADMIN = { name: 'more', scopes: ['read', 'write', 'admin'] }

interface Sent {
  method?: string
  url: string
  body?: object
  headers?: Record<string, string>
}

/** The answer to a node in a workflow of this caller. */
async function byNode(server: TestServer, headers: Record<string, string>, sent: Sent) {
  const nodes = [
    { id: 'ask', type: 'http.Request', data: { ...sent, fail_on_error_status: false } },
    ...['status', 'body'].map((name) => ({ id: name, type: 'output.Output', data: { name } })),
  ]
  const edges = ['status', 'body'].map((name) => ({
    source: 'ask',
    sourceHandle: name,
    target: name,
    targetHandle: 'value',
  }))
  const body = { name: 'asks', graph: { nodes, edges } }
  const made = await call<Workflow>(server, 'POST', '/api/workflows', { headers, body })
  const run = await call(server, 'POST', `/api/workflows/${made.body.id}/run`, { headers, body: {} })
  return (run.body as { outputs: { status: number; body: unknown } }).outputs
}

async function mint(server: TestServer, scopes: string[]): Promise<Record<string, string>> {
  const { body } = await call<CreatedToken>(server, 'POST', '/api/tokens', { body: { name: 'agent', scopes } })
  return bearer(body.token)
}

/** Forwards bytes from another address, as the NAT of a published port does. */
async function relay(server: TestServer, from: string) {
  const { port, hostname } = new URL(server.url)
  const sockets = new Set<Socket>()
  const listener = createServer((incoming) => {
    const onwards = dial({ port: Number(port), host: hostname, localAddress: from })
    for (const socket of [incoming, onwards]) sockets.add(socket.on('error', () => {}))
    incoming.pipe(onwards).pipe(incoming)
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(listener.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

describe('a request of a node to its own service', () => {
  test('does not make a user of an identity provider the local user', async () => {
    await using idp = await startIdentityProvider()
    const environment = { ...idp.environment, ...REACHABLE, SVC_TRUST_LOCALHOST: 'true' }
    await using server = await startServer({ environment })
    const theirs = await call<Workflow>(server, 'POST', '/api/workflows', {
      body: { name: 'private', graph: { nodes: [], edges: [] } },
    })
    const path = `/api/workflows/${theirs.body.id}`
    const mallory = bearer(await idp.token({ sub: 'mallory' }))
    const tries: Sent[] = [
      { url: `${server.url}/api/workflows` },
      { url: `${server.url}${path}` },
      { url: `${server.url}/admin/collections` },
      { url: `http://localhost:${new URL(server.url).port}/api/workflows` },
      { method: 'DELETE', url: `${server.url}${path}` },
      { method: 'POST', url: `${server.url}/api/tokens`, body: ADMIN },
      { url: `${server.url}/api/workflows`, headers: { authorization: 'Bearer ntk_unknown' } },
      { url: `${server.url}/api/workflows`, headers: { 'X-Svc-Sender': 'x', 'x-forwarded-for': '127.0.0.1' } },
    ]
    for (const sent of tries) assert.equal((await byNode(server, mallory, sent)).status, 401, JSON.stringify(sent))
    assert.equal((await call(server, 'GET', path)).status, 200)
    const hers = await byNode(server, mallory, { url: `${server.url}/api/workflows`, headers: { ...mallory } })
    assert.equal(hers.status, 200)
  })

  test('gives a token no more than its scopes, and is accepted with a token of its own', async () => {
    await using server = await startServer({ environment: REACHABLE })
    const agent = await mint(server, ['read', 'write'])
    const asked = (sent: Omit<Sent, 'url'>, path: string) =>
      byNode(server, agent, { ...sent, url: `${server.url}${path}` })
    assert.deepEqual(await asked({ method: 'POST', body: ADMIN }, '/api/tokens'), { status: 401, body: REMOTE })
    assert.deepEqual(await asked({}, '/admin/collections'), { status: 401, body: REMOTE })
    assert.equal((await asked({}, '/health')).status, 200)
    // Several requests on a connection that stays open.
    for (let i = 0; i < 3; i++) {
      assert.equal((await asked({ headers: agent }, '/api/workflows')).status, 200)
      assert.equal((await asked({ headers: agent }, '/admin/collections')).status, 403)
      assert.equal((await asked({}, '/api/workflows')).status, 401)
    }
    assert.equal((await call(server, 'GET', '/api/workflows')).status, 200)
  })

  test('is recognized at every address of the service', async () => {
    const environment = { SVC_HTTP_NODE_ALLOW: '127.0.0.0/8, ::1' }
    await using server = await startServer({ environment, config: { host: '::' } })
    const { port } = new URL(server.url)
    for (const host of ['127.0.0.1', '127.0.0.2', 'localhost', '[::1]', '[::ffff:127.0.0.1]']) {
      const sent = { url: `http://${host}:${port}/api/workflows` }
      assert.deepEqual(await byNode(server, {}, sent), { status: 401, body: REMOTE }, host)
    }
  })

  test('is no caller of a trusted network, and no proxy for one', async () => {
    const trusts: Record<string, string>[] = [
      { SVC_TRUST_LOCALHOST: 'false', SVC_TRUST_LOCAL_NETWORKS: '127.0.0.1/32, 192.168.7.0/24' },
      { SVC_TRUSTED_PROXIES: '127.0.0.1', SVC_TRUST_LOCAL_NETWORKS: '192.168.7.0/24' },
    ]
    const headers = { 'X-Forwarded-For': '192.168.7.9' }
    for (const environment of trusts) {
      await using server = await startServer({ environment: { ...environment, ...REACHABLE } })
      const local = environment.SVC_TRUSTED_PROXIES ? headers : {}
      assert.equal((await call(server, 'GET', '/api/workflows', { headers: local })).status, 200)
      for (const tried of [{}, headers]) {
        const { status } = await byNode(server, local, { url: `${server.url}/api/workflows`, headers: tried })
        assert.equal(status, 401, JSON.stringify(environment))
      }
    }
  })

  test('is recognized if its source address was changed on the way', async () => {
    const environment = { ...REACHABLE, SVC_TRUST_LOCAL_NETWORKS: '127.0.0.0/8' }
    await using server = await startServer({ environment })
    await using published = await relay(server, '127.0.0.5')
    assert.equal((await call(published, 'GET', '/api/workflows')).status, 200)
    const agent = await mint(server, ['read', 'write'])
    const url = `${published.url}/api/workflows`
    assert.deepEqual(await byNode(server, agent, { url }), { status: 401, body: REMOTE })
    const named = { 'x-svc-sender': 'somebody else' }
    assert.deepEqual(await byNode(server, agent, { url, headers: named }), { status: 401, body: REMOTE })
    assert.equal((await byNode(server, agent, { url, headers: agent })).status, 200)
  })

  test('is refused with a log line that has the cause', async () => {
    const lines: Record<string, unknown>[] = []
    const log = createLog('info', new Redactor([]), { write: (line: string) => void lines.push(JSON.parse(line)) })
    await using server = await startServer({ environment: REACHABLE, log })
    await byNode(server, {}, { url: `${server.url}/api/workflows`, headers: { Via: '1.1 x' } })
    const [refusal, ...rest] = lines.filter(({ audit }) => audit === 'refused')
    assert.deepEqual([refusal?.cause, refusal?.path, rest], ['own_request', '/api/workflows', []])
    assert.deepEqual(
      lines.filter(({ msg }) => String(msg).includes('forwarding headers')),
      [],
    )
  })
})

describe('a socket on a connection of this process', () => {
  /** Opens a socket, whose connection the server knows as its own if `own` is true. Returns the status of the upgrade. */
  function upgrade(server: TestServer, own: boolean, headers: Record<string, string> = {}): Promise<number> {
    return new Promise((resolve, reject) => {
      const createConnection = () => {
        const { port, hostname } = new URL(server.url)
        const socket = dial(Number(port), hostname)
        if (own) socket.once('connect', () => server.context.access.own_requests.trackConnection(socket))
        return socket
      }
      const ws = new WebSocket(`${server.url.replace('http', 'ws')}/ws`, { headers, createConnection })
      ws.on('unexpected-response', (request, { statusCode }) => {
        request.destroy()
        resolve(statusCode!)
      })
      ws.on('open', () => {
        ws.terminate()
        resolve(101)
      })
      ws.on('error', reject)
    })
  }

  test('needs a token', async () => {
    await using server = await startServer()
    assert.equal(await upgrade(server, false), 101)
    assert.equal(await upgrade(server, true), 401)
    assert.equal(await upgrade(server, true, await mint(server, ['read'])), 101)
    assert.equal(await upgrade(server, false, { ...server.context.access.own_requests.markHeaders }), 401)
  })
})
