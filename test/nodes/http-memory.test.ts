// Received bytes of responses count in the memory account of a run, and many large responses that end at once do not block the server.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import type { ComputeTask } from '../../src/engine/node-api/services/compute.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { executePlan } from '../../src/engine/runtime/execution.ts'
import { readLimitedBody } from '../../src/net/outgoing/response-body.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { graph, node, planOf, Recorder, sink } from '../engine/kit.ts'
import { leavesLoopFree } from '../helpers/loop.ts'
import { errorOf, httpServer, localHttp, request } from '../net/servers.ts'
import { context } from './context.ts'

const MIB = 1_048_576

/** The outcome of a run with this memory limit that sends ten requests in parallel. */
async function sending(url: string, memoryLimit: number, compute = noServices.compute) {
  await using http = localHttp()
  const of = graph(
    [node('n', 'control.Numbers', { from: 1, to: 10 }), node('r', 'http.Request', { url }), sink('status')],
    ['n.item->r.request_timeout_seconds', 'r.status->status.value'],
  )
  const signal = new AbortController().signal
  const services = { ...noServices, http, compute }
  return await executePlan(planOf(of), { params: {}, signal, observer: new Recorder(), services, memoryLimit }).done
}

test('responses that are being received count in the memory of a run', async () => {
  await using server = await httpServer((_request, response) => void response.write(Buffer.alloc(MIB)))
  const outcome = await sending(server.url, 8 * MIB)
  assert.match(outcome.status === 'failed' ? outcome.error.message : '', /^The run holds more than 8 MiB of values/)
})

test('responses that wait to be read count in the memory of a run', async () => {
  await using server = await httpServer((_request, response) => void response.end(Buffer.alloc(4 * MIB)))
  const never = {
    takes: ({ node_type }: { node_type: string }) => node_type === 'http.Request',
    run: ({ signal }: ComputeTask) =>
      new Promise<never>((_resolve, reject) => {
        signal.throwIfAborted()
        signal.addEventListener('abort', () => reject(signal.reason))
      }),
  }
  const outcome = await sending(server.url, 20 * MIB, never)
  assert.match(outcome.status === 'failed' ? outcome.error.message : '', /^The run holds more than 20 MiB of values/)
})

test('responses that were read no longer count in the memory of a run', async () => {
  await using server = await httpServer((_request, response) => void response.end(Buffer.alloc(MIB)))
  const of = graph(
    [
      node('n', 'control.Numbers', { from: 11, to: 30 }),
      node('r', 'http.Request', { url: server.url }),
      sink('status'),
    ],
    ['n.item->r.request_timeout_seconds', 'r.status->status.value'],
  )
  await using http = localHttp()
  const signal = new AbortController().signal
  let held = 0
  const counted = {
    send: (one: Parameters<typeof http.send>[0]) => {
      const told = (bytes: number) => {
        held += bytes
        one.onBytesHeld?.(bytes)
      }
      return http.send({ ...one, onBytesHeld: told })
    },
  }
  const services = { ...noServices, http: counted }
  const outcome = await executePlan(planOf(of), { params: {}, signal, observer: new Recorder(), services }).done
  assert.deepEqual([outcome.status, held], ['completed', 0])
})

test('a response that failed no longer counts in the memory of a run', async () => {
  await using server = await httpServer((_request, response) => {
    response.write(Buffer.alloc(MIB))
    response.end()
  })
  await using http = localHttp()
  let [held, most] = [0, 0]
  const told = (bytes: number) => {
    held += bytes
    most = Math.max(most, held)
  }
  assert.equal(
    (await errorOf(http.send(request(server.url, { max_bytes: 500_000, onBytesHeld: told })))).type,
    'too_large',
  )
  assert.equal(held, 0)
  assert.ok(most >= 500_000 && most < MIB, `${most} bytes at most`)
})

test('large responses that end at once are joined in time slices', () =>
  leavesLoopFree(async () => {
    const piece = Buffer.alloc(65_536, 'x')
    const bodies = Array.from({ length: 8 }, () => new Readable({ read() {} }))
    const read = bodies.map((body) => readLimitedBody(body, [], 100_000_000))
    for (const body of bodies) {
      for (let count = 0; count < 300; count++) body.push(piece)
    }
    await new Promise((resolve) => setTimeout(resolve, 50))
    return async () => {
      for (const body of bodies) body.push(null)
      for (const bytes of await Promise.all(read)) assert.equal(bytes.length, 300 * piece.length)
    }
  }))

test('a response that is too large to be read is not sent to a worker', async () => {
  const { prepare } = builtinRegistry.get('http.Request')!
  const bytes = { text: 40_000_001, json: 10_000_001, base64: 7_500_001 }
  for (const [response_type, length] of Object.entries(bytes)) {
    const http = { send: async () => ({ status: 200, headers: {}, body: Buffer.alloc(length), url: 'http://a/' }) }
    const services = { ...noServices, http }
    const given = { method: 'GET', url: 'http://a/', query: null, headers: null, body: null, retries: 0, response_type }
    await assert.rejects(async () => prepare!(given, { ...context, services }), { type: 'too_large' })
  }
})
