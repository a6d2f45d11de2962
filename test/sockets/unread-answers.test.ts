// Connections that request large answers and do not read them, while too much is held.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { passing } from '../fairness/attacks/values.ts'
import { type KeptLog, keptLog } from '../helpers/kept-log.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'

/** A few of these answers exceed the buffers of the system. */
const TEXT = 'x'.repeat(12_000_000)

let kept: KeptLog
let server: TestServer
let job_id: string

before(async () => {
  kept = keptLog()
  const environment = { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }
  server = await startServer({ environment, max_response_buffer_bytes: 20_000_000, log: kept.log })
  const headers = { 'Content-Type': 'application/json' }
  const body = JSON.stringify({ params: { in: TEXT } })
  const stored = await fetch(`${server.url}/api/workflows`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ name: 'Large', graph: passing(false) }),
  })
  const { id } = (await stored.json()) as { id: string }
  const run = await fetch(`${server.url}/api/workflows/${id}/run`, { method: 'POST', headers, body })
  job_id = ((await run.json()) as { job_id: string }).job_id
})
after(() => server[Symbol.asyncDispose]())

test('sockets that do not read their answers are closed with 1013', async () => {
  await using one = await connect(server)
  await using other = await connect(server)
  for (const { ws } of [one, other]) ws.pause()
  for (const request_id of ['r1', 'r2', 'r3', 'r4'])
    for (const socket of [one, other]) socket.send({ command: 'get_job_snapshot', request_id, data: { job_id } })
  await until('the cut to be told', () => kept.lines.some((line) => line.includes('connections are cut')))
  for (const { ws } of [one, other]) ws.resume()
  const { code } = await Promise.any([one, other].map((socket) => socket.closed(10_000)))
  assert.equal(code, 1013)
})

test('an answer over HTTP that is not read breaks off to make room for the next one', async () => {
  const first = await fetch(`${server.url}/api/jobs/${job_id}`)
  assert.equal(first.status, 200)
  const second = await (await fetch(`${server.url}/api/jobs/${job_id}`)).text()
  assert.ok(second.length > TEXT.length)
  await assert.rejects(first.text())
})
