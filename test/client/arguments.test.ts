// What a caller gives that cannot be sent is an error of the client's own kind, over every door, and nothing is sent.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { caught, fastClient, historyOf, JOB, json, snapshot, startScripted } from './kit.ts'

function circular(): object {
  const value: Record<string, unknown> = {}
  value.self = value
  return value
}

const UNSENDABLE = { 'a BigInt': 1n, 'a value within itself': circular(), 'a deep BigInt': [{ a: [2n] }] }

describe('inputs that cannot be sent', () => {
  for (const [what, value] of Object.entries(UNSENDABLE)) {
    test(`are INVALID_ARGUMENT: ${what}`, async () => {
      for (const jobs of ['available', 'disabled'] as const) {
        for (const encoding of ['messagepack', 'json-text'] as const) {
          await using server = await startScripted({ jobs, commands: { set_mode: () => {} } })
          await using client = fastClient(server, { encoding })
          const error = await caught(client.run('greet', { value }))
          assert.deepEqual([error.code, error.retryable, error.status], ['INVALID_ARGUMENT', false, null])
          const preflight = await caught(client.preflight({ workflow_id: 'greet', inputs: { value } }))
          assert.equal(preflight.code, 'INVALID_ARGUMENT')
          assert.equal((await caught(client.rpc('get_node', { node_type: value as never }))).code, 'INVALID_ARGUMENT')
          assert.deepEqual([server.named('submit_job'), server.named('get_node')], [[], []])
          assert.ok(server.calls.every(({ method }) => method === 'GET'))
        }
      }
    })
  }

  test('do not harm the connection, nor what waits for its turn on it', async () => {
    await using server = await startScripted({
      commands: {
        get_node: (peer, command) => peer.answer(command, {}),
        subscribe_job: (peer, command) => peer.subscribe(command, snapshot('completed', 2), historyOf(2)),
      },
    })
    await using client = fastClient(server, { messages_per_second: 2 })
    const good = [1, 2, 3].map(() => client.rpc('get_node', { node_type: 'x' }))
    const bad = await caught(client.rpc('get_node', { node_type: 1n as never }))
    assert.equal(bad.code, 'INVALID_ARGUMENT')
    assert.equal((await Promise.all(good)).length, 3)
    assert.equal(server.peers.length, 1)
  })
})

describe('an id or a token that cannot be sent', () => {
  test('is INVALID_ARGUMENT where it has half a character', async () => {
    await using server = await startScripted({ jobs: 'disabled' })
    await using client = fastClient(server)
    const job = client.job('\ud800')
    for (const asked of [job.snapshot(), job.result, client.run('\ud800')])
      assert.equal((await caught(asked)).code, 'INVALID_ARGUMENT')
  })

  test('is INVALID_ARGUMENT where no header can hold it, and is not told', async () => {
    await using server = await startScripted({ http: (_call, response) => json(response, 200, {}) })
    for (const secret of ['s3cret\nX-Evil: 1', 's3cret✓'])
      for (const token of [secret, () => secret]) {
        await using client = fastClient(server, { token })
        const asked = [client.capabilities(), client.rpc('get_node', { node_type: 'x' }), client.job(JOB).result]
        for (const error of await Promise.all(asked.map(caught))) {
          assert.equal(error.code, 'INVALID_ARGUMENT')
          assert.ok(!JSON.stringify([error.message, String(error.cause)]).includes('s3cret'))
        }
      }
    assert.deepEqual([server.calls, server.peers], [[], []])
  })
})
