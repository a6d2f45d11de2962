// Calls of a job whose history cannot be written for a while, in one process. A call with a stored end is never repeated, other calls are. A call that must
// not be made twice ends the job.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { graph, node } from '../engine/kit.ts'
import { startServer, until } from '../helpers/server.ts'
import { ended, OWNER, Saboteur, submit } from './kit.ts'

/** Records each call, and answers it at once. Calls under `/slow` wait until the test releases them. */
class Peer implements AsyncDisposable {
  readonly calls: string[] = []
  readonly waiting: ServerResponse[] = []
  readonly #server = createServer(({ method, url }, response) => {
    this.calls.push(`${method} ${url}`)
    if (url!.startsWith('/slow')) this.waiting.push(response)
    else response.end('done')
  })

  async listen(): Promise<string> {
    await once(this.#server.listen(0, '127.0.0.1'), 'listening')
    return `127.0.0.1:${(this.#server.address() as AddressInfo).port}`
  }

  /** Releases the next slow call. */
  async letGo(): Promise<void> {
    const response = await until('a slow call', () => this.waiting.shift())
    response.end('slow')
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections()
    await new Promise((resolve) => this.#server.close(resolve))
  }
}

/** Calls in sequence, each with the answer to the call before in its path. */
function chain(at: string, ...calls: readonly (readonly ['GET' | 'POST', string])[]) {
  const nodes = calls.flatMap(([method, path], place) => [
    node(`url${place}`, 'text.Template', { template: `http://${at}${path}${place === 0 ? '' : '/{{before}}'}` }),
    node(`call${place}`, 'http.Request', { method, response_type: 'text' }),
  ])
  const edges = calls.flatMap((_, place) => [
    ...(place === 0 ? [] : [`call${place - 1}.body->url${place}.before`]),
    `url${place}.output->call${place}.url`,
  ])
  return graph(nodes, edges)
}

/** Runs the calls, and makes writes fail from the start of the slow call until its answer. */
async function interruptedAtSlow(...calls: readonly (readonly ['GET' | 'POST', string])[]) {
  await using peer = new Peer()
  const at = await peer.listen()
  await using server = await startServer({ environment: { SVC_HTTP_NODE_ALLOW: at } })
  using saboteur = new Saboteur(server)
  const { row } = submit(server, { graph: chain(at, ...calls) })
  await until('the slow call', () => peer.waiting.length > 0)
  saboteur.break()
  await peer.letGo()
  await until('the loss', () => server.context.runs.jobs.living(OWNER, row.id) === null)
  saboteur.mend()
  const end = ended(server, row.id)
  if (calls.some(([method, path]) => method === 'GET' && path === '/slow')) await peer.letGo()
  const { status, error } = await end
  return { status, error: error && (JSON.parse(error) as { type: string }).type, calls: peer.calls }
}

test('a call that may be made twice is repeated, and calls that finished before it are not', async () => {
  assert.deepEqual(await interruptedAtSlow(['POST', '/first'], ['GET', '/slow'], ['POST', '/last']), {
    status: 'completed',
    error: null,
    calls: ['POST /first', 'GET /slow/done', 'GET /slow/done', 'POST /last/slow'],
  })
})

test('a call that must not be made twice ends the job', async () => {
  assert.deepEqual(await interruptedAtSlow(['GET', '/first'], ['POST', '/slow'], ['GET', '/last']), {
    status: 'failed',
    error: 'node_interrupted',
    calls: ['GET /first', 'POST /slow/done'],
  })
})
