// A server with a small heap survives many runs of large graphs that together need more than its heap, and graphs that are too large for
// it. Graphs without room are refused before they are accepted, running ones do not fail, and other users are served meanwhile.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { startFair } from '../fairness/kit.ts'
import type { Reply, User } from '../fairness/user.ts'

const node = (id: string, type: string, data: object = {}) => ({ id, type, data })
const edge = (source: string, target: string, targetHandle: string) => {
  return { source, sourceHandle: 'output', target, targetHandle }
}

/** Such a graph takes about a tenth of the heap. */
const NODES = 8_000
const RUNS = 14
/** A graph that needs more than the whole heap. */
const TOO_MANY = 90_000

/** A server that never answers. */
async function silentServer() {
  const server = createServer(() => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

/** All nodes wait for the answer of a server. */
function chainOf(count: number, number: number, url: string) {
  const nodes = Array.from({ length: count }, (_, at) => node(`n${number}_${at}`, 'text.Trim'))
  const edges = nodes.slice(1).map(({ id }, at) => edge(`n${number}_${at}`, id, 'text'))
  const slow = node('slow', 'http.Request', { url, request_timeout_seconds: 600 })
  const first = { ...edge('slow', nodes[0]!.id, 'text'), sourceHandle: 'body' }
  return { nodes: [slow, ...nodes], edges: [first, ...edges] }
}

async function jobs(user: User, status: string): Promise<unknown[]> {
  const { text } = await user.expect(200, 'GET', `/api/jobs?status=${status}&limit=100`)
  return JSON.parse(text) as unknown[]
}

test('runs of large graphs that together need more than the heap do not end the process', async () => {
  using slow = await silentServer()
  await using server = await startFair({
    NODE_OPTIONS: '--max-old-space-size=256',
    SVC_HTTP_NODE_ALLOW: '127.0.0.1',
  })
  const { attacker } = server
  const answered: Reply[] = []
  let asked = 0
  const attack = {
    name: 'runs of large graphs',
    side_by_side: 2,
    async strike() {
      while (asked < RUNS) {
        const id = await attacker.store(chainOf(NODES, asked++, slow.url))
        answered.push(await attacker.send('POST', `/api/workflows/${id}/run`, '{"background":true}'))
      }
    },
  }
  const { answers } = await server.under([attack], () => true)
  for (const [name, { count }] of Object.entries(answers)) assert.ok(count > 0, name)
  const [accepted, refused] = [202, 429].map((status) => answered.filter((reply) => reply.status === status))
  assert.equal(accepted!.length + refused!.length, RUNS)
  assert.ok(accepted!.length > 0 && refused!.length > 0, `${accepted!.length} of ${RUNS} were accepted`)
  for (const { text } of refused!) assert.match(text, /queue_full/)
  assert.equal((await jobs(attacker, 'running')).length, accepted!.length)
  const graph = chainOf(TOO_MANY, RUNS, slow.url)
  const { text } = await attacker.expect(413, 'POST', '/api/workflows', JSON.stringify({ name: 'a', graph }))
  assert.match(text, /The graph needs more memory than the server allows for one graph/)
  await attacker.expect(200, 'GET', '/health')
})
