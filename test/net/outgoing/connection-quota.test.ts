// Connections to one origin are shared between users: nobody's request waits behind all the slow ones of another.
import assert from 'node:assert/strict'
import type { ServerResponse } from 'node:http'
import { describe, test } from 'node:test'
import { createNodeServiceFactory } from '../../../src/composition/node-services.ts'
import { noServices } from '../../../src/engine/node-api/services/no-services.ts'
import type { OutgoingHttp } from '../../../src/engine/node-api/services/outgoing-http.ts'
import { createUnbilledContext } from '../../../src/models/billing/billing-context.ts'
import { until } from '../../engine/kit.ts'
import { errorOf, httpServer, localHttp, request, textOf } from '../servers.ts'

const MOST = 128
const MOST_OF_ONE = 32

/** Answers "/now" at once, begins an answer to "/begun", and tells of all others that they wait. */
async function slowServer() {
  const waiting: ServerResponse[] = []
  const server = await httpServer((asked, response) => {
    if (asked.url === '/now') return void response.end('now')
    if (asked.url === '/moved') return void response.writeHead(302, { location: '/now' }).end('moved')
    if (asked.url === '/begun') response.write('begun')
    waiting.push(response)
    response.once('close', () => waiting.splice(waiting.indexOf(response), 1))
  })
  return Object.assign(server, { waiting })
}

type SlowServer = Awaited<ReturnType<typeof slowServer>>

/** Requests of one owner that are not answered. What they end with is not looked at. */
function held(http: OutgoingHttp, server: SlowServer, count: number, path = '/slow'): AbortController[] {
  return Array.from({ length: count }, () => {
    const abort = new AbortController()
    http.send(request(server.url + path, { timeout_ms: 60_000, signal: abort.signal })).catch(() => {})
    return abort
  })
}

const now = async (http: OutgoingHttp, server: SlowServer) => textOf(await http.send(request(`${server.url}/now`)))
const isHeld = async (http: OutgoingHttp, server: SlowServer) => {
  const { type, message } = await errorOf(http.send(request(`${server.url}/now`, { timeout_ms: 50 })))
  // The host is not to blame.
  return type === 'http_timeout' && message.startsWith('Other requests to "127.0.0.1" used all connections')
}

describe('connections to one origin', () => {
  for (const path of ['/slow', '/begun'])
    test(`that one user holds with ${path} keep only that user waiting`, async () => {
      await using server = await slowServer()
      await using http = localHttp()
      const [mine, yours] = [http.forOwner('mine'), http.forOwner('yours')]
      const requests = held(mine, server, MOST_OF_ONE + 8, path)
      await until(() => server.waiting.length === MOST_OF_ONE, 'all that one user may have')
      assert.equal(await now(yours, server), 'now')
      assert.equal(await now(http, server), 'now')
      assert.equal(await isHeld(mine, server), true)
      assert.equal(server.waiting.length, MOST_OF_ONE)

      for (const abort of requests.slice(0, 9)) abort.abort(new Error('enough'))
      await until(() => server.waiting.length === MOST_OF_ONE - 1, 'those that waited')
      assert.equal(await now(mine, server), 'now')
    })

  test('are another matter than those to another origin', async () => {
    await using server = await slowServer()
    await using other = await slowServer()
    await using http = localHttp()
    const mine = http.forOwner('mine')
    held(mine, server, MOST_OF_ONE)
    await until(() => server.waiting.length === MOST_OF_ONE, 'all that one user may have')
    assert.equal(await now(mine, other), 'now')
  })

  test('have one for a further user where several hold as many as they get, and are bounded', async () => {
    await using server = await slowServer()
    await using http = localHttp()
    let all = 0
    for (const [owner, gets] of Object.entries({ a: 32, b: 32, c: 32, d: 16, e: 8, f: 4, g: 2, h: 1 })) {
      held(http.forOwner(owner), server, MOST_OF_ONE + 1)
      all += gets
      await until(() => server.waiting.length === all, `those of ${owner}`)
    }
    assert.equal(await now(http.forOwner('i'), server), 'now')
    for (let n = 0; n < 3; n++) held(http.forOwner(`late ${n}`), server, 1)
    await until(() => server.waiting.length === MOST, 'all that there are')
    assert.equal(await isHeld(http.forOwner('too late'), server), true)
    assert.equal(server.open, MOST)
  })

  test('are given back however a request ends', async () => {
    await using server = await slowServer()
    await using http = localHttp()
    const mine = http.forOwner('mine')
    for (let n = 0; n < MOST_OF_ONE; n++) {
      const ask = (path: string, more = {}) => mine.send(request(server.url + path, more))
      assert.equal((await ask('/moved')).status, 200)
      assert.equal((await ask('/moved', { max_redirects: 0 })).status, 302)
      assert.equal((await ask('/now', { method: 'HEAD' })).status, 200)
      for (const [path, more] of [
        ['/now', { max_bytes: 1 }],
        ['/begun', { max_bytes: 1 }],
        ['/slow', { timeout_ms: 5 }],
        ['/begun', { timeout_ms: 20 }],
      ] as const)
        await errorOf(ask(path, more))
    }
    held(mine, server, MOST_OF_ONE)
    await until(() => server.waiting.length === MOST_OF_ONE, 'all that one user may have')
  })

  test('are shared between the users that workflows and conversations belong to', async () => {
    await using server = await slowServer()
    await using services = createNodeServiceFactory(
      { http_node_allow: ['127.0.0.1'] },
      { accessFor: () => noServices.models },
    )
    const billing = createUnbilledContext(() => null)
    const workflow = (owner: string) => services.forOwner({ owner, secret: () => null, billing }).http
    held(workflow('mine'), server, MOST_OF_ONE + 1)
    await until(() => server.waiting.length === MOST_OF_ONE, 'all that one user may have')
    assert.equal(await isHeld(workflow('mine'), server), true)
    assert.equal(await isHeld(services.httpFor('mine'), server), true)
    assert.equal(await now(workflow('yours'), server), 'now')
    assert.equal(await now(services.httpFor('yours'), server), 'now')
  })

  test('that are waited for when the client closes are waited for no longer', async () => {
    await using server = await slowServer()
    const http = localHttp()
    held(http.forOwner('mine'), server, MOST_OF_ONE)
    await until(() => server.waiting.length === MOST_OF_ONE, 'all that one user may have')
    const waiting = errorOf(http.forOwner('mine').send(request(server.url)))
    await http[Symbol.asyncDispose]()
    assert.equal((await waiting).type, 'unavailable')
  })
})
