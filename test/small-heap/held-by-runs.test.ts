// A server with a small heap survives runs of one user that together hold more than its heap, each less than its limit. Only some of these
// runs fail, and other users are served meanwhile.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { startFair } from '../fairness/kit.ts'
import type { User } from '../fairness/user.ts'
import { until } from '../helpers/server.ts'

const node = (id: string, type: string, data: object = {}) => ({ id, type, data })
const edge = (source: string, sourceHandle: string, target: string, targetHandle: string) => ({
  source,
  sourceHandle,
  target,
  targetHandle,
})

/**
 * An empty object in a list takes 64 bytes of the heap. All runs share 3/8 of a
 * heap of 256 MiB, and one user may use three quarters of that.
 */
const OBJECTS = 150_000
/** About 300 MB together. */
const RUNS = 32
/** At most 16 runs of one workflow are active at once. */
const WORKFLOWS = 4

/** The run holds a list and waits for the answer of a server. */
const holding = (
  url: string,
  list: { readonly nodes: readonly object[]; readonly from: readonly [string, string] },
) => ({
  nodes: [
    ...list.nodes,
    node('slow', 'http.Request', { url, request_timeout_seconds: 600 }),
    node('both', 'list.Append'),
    node('length', 'list.Length'),
    node('out', 'output.Output', { name: 'out' }),
  ],
  edges: [
    edge(...list.from, 'both', 'list'),
    edge('slow', 'status', 'both', 'value'),
    edge('both', 'output', 'length', 'list'),
    edge('length', 'output', 'out', 'value'),
  ],
})

const GIVEN = { nodes: [node('in', 'input.Any', { name: 'in' })], from: ['in', 'output'] } as const
/** On a busy machine the code takes more than its default limit of five seconds. */
const CODE = { code: `return { made: Array.from({ length: ${OBJECTS} }, () => ({})) }`, time_limit_ms: 60_000 }
const MADE = {
  nodes: [
    {
      ...node('code', 'code.JavaScript', CODE),
      dynamic_outputs: { made: { type: 'list' } },
    },
  ],
  from: ['code', 'made'],
} as const

/** A server that answers only on command. */
async function slowServer() {
  let isOpen = false
  const waiting = new Set<ServerResponse>()
  const server = createServer((_request, response) => {
    if (isOpen) response.end('1')
    else waiting.add(response)
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    answer() {
      isOpen = true
      for (const response of waiting) response.end('1')
    },
    [Symbol.dispose]() {
      server.closeAllConnections()
      server.close()
    },
  }
}

interface Job {
  readonly status: string
  readonly error: { readonly type: string; readonly message: string } | null
}

async function jobOf(user: User, id: string): Promise<Job> {
  return JSON.parse((await user.expect(200, 'GET', `/api/jobs/${id}`)).text) as Job
}

async function count(user: User, status: string): Promise<number> {
  await pause(100)
  const { text } = await user.expect(200, 'GET', `/api/jobs?status=${status}&limit=100`)
  return (JSON.parse(text) as unknown[]).length
}

for (const [what, list, params] of [
  ['that were given', GIVEN, `{"in":[${'{},'.repeat(OBJECTS - 1)}{}]}`],
  ['that they made', MADE, '{}'],
] as const)
  test(`runs that hold large values ${what} do not end the process`, async () => {
    using slow = await slowServer()
    await using server = await startFair({
      NODE_OPTIONS: '--max-old-space-size=256',
      SVC_HTTP_NODE_ALLOW: '127.0.0.1',
    })
    const { attacker } = server
    const ids: string[] = []
    for (let at = 0; at < WORKFLOWS; at++) ids.push(await attacker.store(holding(slow.url, list)))
    const body = `{"background":true,"params":${params}}`
    let asked = 0
    const jobs: string[] = []
    const attack = {
      name: `runs that hold ${OBJECTS} objects each`,
      side_by_side: 4,
      async strike() {
        while (asked < RUNS) {
          const path = `/api/workflows/${ids[asked++ % WORKFLOWS]}/run`
          const { text } = await attacker.expect(202, 'POST', path, body)
          jobs.push((JSON.parse(text) as { job_id: string }).job_id)
        }
        await until('a run to fail', async () => (await count(attacker, 'failed')) > 0)
      },
    }
    const { answers } = await server.under([attack], () => true)
    for (const [name, { count: times }] of Object.entries(answers)) assert.ok(times > 0, name)
    slow.answer()
    const left = async () => (await count(attacker, 'running')) + (await count(attacker, 'queued'))
    await until('all to end', async () => (await left()) === 0, 60_000)
    const ended = await Promise.all(jobs.map((id) => jobOf(attacker, id)))
    const failures = ended.flatMap(({ error }) => error ?? [])
    for (const { type, message } of failures) {
      assert.equal(type, 'too_large')
      assert.match(message, /^Your runs together hold more values than the server has room for/)
    }
    assert.ok(failures.length > 0)
    assert.ok(failures.length < RUNS)
    await attacker.expect(200, 'GET', '/health')
  })
