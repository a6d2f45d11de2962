// A large result, and events with large values, are the same through every transport.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { encode } from '@msgpack/msgpack'
import type { JobEvent, JobSnapshot } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { EventClient } from '../http/events-kit.ts'
import { ended, plain, submit } from './kit.ts'

/** A result with numeric names, which come first in any object, and with characters of every length. */
const value = Array.from({ length: 10_000 }, (_, at) => ({ name: `row ${at} é€😀`, 7: [at, { 1: null, b: at / 3 }] }))

async function ending(server: TestServer): Promise<string> {
  const { row } = submit(server, { graph: plain, params: { in: value } })
  assert.equal((await ended(server, row.id)).status, 'completed')
  return row.id
}

describe('a large result', () => {
  test('is the same in the snapshot of its job, in lists, in events and in their stream', async () => {
    await using server = await startServer()
    const id = await ending(server)
    const state = await call<JobSnapshot>(server, 'GET', `/api/jobs/${id}`)
    assert.deepEqual(state.body.result?.outputs, { out: value })
    assert.equal(state.text.length > 800_000, true)
    const list = await call<JobSnapshot[]>(server, 'GET', '/api/jobs')
    assert.equal(list.text, `[${state.text}]`)

    const accept = { headers: { Accept: 'application/json' } }
    const events = await call<JobEvent[]>(server, 'GET', `/api/jobs/${id}/events`, accept)
    const output = events.body.find(({ type }) => type === 'output_update')
    assert.deepEqual(output && 'value' in output && output.value, value)
    const end = events.body.at(-1)!
    assert.deepEqual(end.type === 'job_terminal' && [end.status, end.snapshot], ['completed', state.body])

    await using client = await EventClient.open(server, `/api/jobs/${id}/events`, { Accept: 'text/event-stream' })
    assert.deepEqual(await client.end(), events.body)
  })

  test('is the same in the frames of commands, in both encodings', async () => {
    await using server = await startServer({ config: { sdk_lifecycle_preview: true } })
    const id = await ending(server)
    const state = (await call<JobSnapshot>(server, 'GET', `/api/jobs/${id}`)).body
    for (const mode of ['binary', 'text'] as const) {
      await using socket = await connect(server)
      if (mode === 'text') socket.command('set_mode', { mode })
      socket.command('reconnect_job', { job_id: id })
      const update = await socket.next({ type: 'job_update' })
      assert.deepEqual(update.result, { outputs: { out: [value] } })
      assert.deepEqual((await socket.next({ type: 'output_update' })).value, value)
      socket.sendRaw(encode({ command: 'subscribe_job', request_id: 'r', data: { job_id: id } }))
      const reply = await socket.next({ type: 'rpc_response' })
      assert.deepEqual((reply.result as { snapshot: unknown }).snapshot, state)
      const end = await socket.next(({ event }) => (event as { type?: string } | undefined)?.type === 'job_terminal')
      assert.deepEqual((end.event as { snapshot: unknown }).snapshot, state)
    }
  })

  test('gives its length without its content for a HEAD request', async () => {
    await using server = await startServer()
    const id = await ending(server)
    const { text } = await call(server, 'GET', `/api/jobs/${id}`)
    const head = await fetch(`${server.url}/api/jobs/${id}`, { method: 'HEAD' })
    assert.deepEqual([head.headers.get('content-length'), await head.text()], [String(Buffer.byteLength(text)), ''])
  })
})
