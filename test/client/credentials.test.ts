// The credential of the socket: refused at the upgrade, withdrawn while it is open, asked for once more and no more often.
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { describe, test } from 'node:test'
import { until } from '../helpers/server.ts'
import { caught, fastClient, historyOf, JOB, type Script, sequences, snapshot, startScripted } from './kit.ts'

const node = { node_type: 'x' }
const answering: Script['commands'] = { get_node: (peer, command) => peer.answer(command, {}) }
const bearer = (request: IncomingMessage) => request.headers.authorization ?? null

describe('a credential', () => {
  test('that is refused at the upgrade is asked for again, once', async () => {
    const seen: (string | null)[] = []
    await using server = await startScripted({
      commands: answering,
      upgrade(request) {
        seen.push(bearer(request))
        return bearer(request) === 'Bearer token-2' ? null : 401
      },
    })
    let asked = 0
    await using client = fastClient(server, { token: () => `token-${++asked}` })
    await client.rpc('get_node', node)
    assert.deepEqual(seen, ['Bearer token-1', 'Bearer token-2'])

    await using stubborn = fastClient(server, { token: () => `wrong-${++asked}` })
    const error = await caught(stubborn.rpc('get_node', node))
    assert.deepEqual([error.code, error.status, error.retryable], ['AUTHENTICATION_REQUIRED', 401, false])
    assert.equal(seen.length, 4)
  })

  test('that cannot be renewed is refused at once', async () => {
    for (const token of ['fixed', undefined]) {
      let upgrades = 0
      await using server = await startScripted({
        upgrade() {
          upgrades++
          return 401
        },
      })
      await using client = fastClient(server, token === undefined ? {} : { token })
      assert.equal((await caught(client.rpc('get_node', node))).code, 'AUTHENTICATION_REQUIRED')
      assert.equal(upgrades, 1)
    }
  })

  test('that is withdrawn while a job is followed is renewed, and the job goes on', async () => {
    const seen: (string | null)[] = []
    await using server = await startScripted({
      upgrade(request) {
        seen.push(bearer(request))
        return null
      },
      commands: {
        subscribe_job(peer, command) {
          if (peer.number > 0) return peer.subscribe(command, snapshot('completed', 3), historyOf(3).slice(1))
          peer.subscribe(command, snapshot('running', 1), historyOf(3).slice(0, 1))
          peer.ws.close(1008, 'the credential is no longer valid')
        },
      },
    })
    let asked = 0
    await using client = fastClient(server, { token: async () => `token-${++asked}` })
    assert.deepEqual(await sequences(client.job(JOB)), [1, 2, 3])
    assert.deepEqual(seen, ['Bearer token-1', 'Bearer token-2'])
  })

  test('that is withdrawn again and again is an error', async () => {
    let asked = 0
    await using server = await startScripted({ opened: (peer) => peer.ws.close(1008, 'no') })
    await using client = fastClient(server, { token: () => `token-${++asked}` })
    const error = await caught(client.job(JOB).result)
    assert.equal(error.code, 'AUTHENTICATION_REQUIRED')
    assert.deepEqual([asked, server.peers.length], [2, 2])
  })

  test('is kept where the server only finds that there is too much to do', async () => {
    let asked = 0
    await using server = await startScripted({
      opened: (peer) => peer.number < 2 && peer.ws.close(1008, 'too many messages'),
      commands: answering,
    })
    await using client = fastClient(server, { token: () => `token-${++asked}` })
    await client.rpc('get_node', node)
    assert.deepEqual([asked, server.peers.length], [1, 3])
  })

  test('that an answer refuses is renewed as well', async () => {
    let asked = 0
    await using server = await startScripted({
      commands: {
        get_node(peer, command) {
          if (peer.number === 0) peer.refuse(command, 'AUTHENTICATION_REQUIRED')
          else peer.answer(command, {})
        },
      },
    })
    await using client = fastClient(server, { token: () => `token-${++asked}` })
    await client.rpc('get_node', node)
    assert.equal(asked, 2)
  })

  test('that cannot be had fails the request with what its giver threw', async () => {
    await using server = await startScripted({ commands: answering })
    const reason = new Error('the user is not signed in')
    let fail = true
    const token = () => {
      if (fail) throw reason
      return 'token'
    }
    await using client = fastClient(server, { token })
    await assert.rejects(client.rpc('get_node', node), reason)
    await assert.rejects(client.capabilities(), reason)
    fail = false
    await client.rpc('get_node', node)
  })
})

describe('an answer with an error', () => {
  test('is final, or asked for again as it says', async () => {
    for (const [code, retryable, attempts] of [
      ['IDEMPOTENCY_CONFLICT', false, 1],
      ['WORKFLOW_REVISION_CONFLICT', false, 1],
      ['PREFLIGHT_FAILED', false, 1],
      ['RATE_LIMITED', true, 4],
      ['SERVICE_UNAVAILABLE', true, 4],
    ] as const) {
      await using server = await startScripted({
        commands: { submit_job: (peer, command) => peer.refuse(command, code, retryable) },
      })
      await using client = fastClient(server)
      const error = await caught(client.submit('greet', {}, { idempotency_key: 'mine', workflow_etag: 'etag-0' }))
      assert.deepEqual([error.code, error.retryable], [code, retryable])
      const sent = server.named('submit_job').map(({ data }) => JSON.stringify(data))
      assert.deepEqual([sent.length, new Set(sent).size], [attempts, 1])
      assert.match(sent[0]!, /"idempotency_key":"mine".*"workflow_etag":"etag-0"/)
    }
  })

  test('of a subscription ends the job for its readers, and nothing is retried', async () => {
    for (const code of ['JOB_NOT_FOUND', 'JOB_EXPIRED', 'SEQUENCE_AHEAD']) {
      await using server = await startScripted({
        commands: { subscribe_job: (peer, command) => peer.refuse(command, code) },
      })
      await using client = fastClient(server)
      const job = client.job(JOB)
      const errors = await Promise.all([caught(job.result), caught(sequences(job))])
      assert.deepEqual([errors.map((error) => error.code), server.commands.length], [[code, code], 1])
    }
  })

  test('of a subscription that may work later is waited out', async () => {
    let count = 0
    await using server = await startScripted({
      commands: {
        subscribe_job(peer, command) {
          if (++count < 6) peer.refuse(command, 'SERVICE_UNAVAILABLE', true)
          else peer.subscribe(command, snapshot('completed', 2), historyOf(2))
        },
      },
    })
    await using client = fastClient(server)
    assert.deepEqual(await sequences(client.job(JOB)), [1, 2])
  })
})

describe('giving up', () => {
  const quiet: Script['commands'] = {
    subscribe_job: (peer, command) => peer.subscribe(command, snapshot('running', 1), historyOf(2).slice(0, 1)),
    request_job_cancellation: (peer, command) =>
      peer.answer(command, { job_id: JOB, status: 'cancelled', snapshot: snapshot('cancelled', 1) }),
    get_node: () => {},
  }

  test('a wait leaves the job alone, unless it is asked to cancel it', async () => {
    await using server = await startScripted({ commands: quiet })
    await using client = fastClient(server)
    for (const cancel_on_abort of [false, true]) {
      const job = client.job(JOB)
      const controller = new AbortController()
      const waited = job.wait({ signal: controller.signal, cancel_on_abort })
      const reason = new Error('enough')
      for await (const _ of job) break
      controller.abort(reason)
      await assert.rejects(waited, reason)
      if (cancel_on_abort) await until('a cancellation', () => server.named('request_job_cancellation').length === 1)
      else assert.equal(server.named('request_job_cancellation').length, 0)
    }
  })

  test('an iteration and a command is possible at any time', async () => {
    await using server = await startScripted({ commands: quiet })
    await using client = fastClient(server)
    const controller = new AbortController()
    const reason = new Error('enough')
    const asked = client.rpc('get_node', node, { signal: controller.signal })
    const read = (async () => {
      for await (const { sequence } of client.job(JOB).events({ signal: controller.signal }))
        if (sequence === 1) controller.abort(reason)
    })()
    await assert.rejects(read, reason)
    await assert.rejects(asked, reason)
  })

  test('the client ends every wait and lets go of the socket', async () => {
    await using server = await startScripted({ commands: quiet })
    const client = fastClient(server)
    const job = client.job(JOB)
    const waits = [job.result, sequences(job), client.rpc('get_node', node), client.job('other').snapshot()]
    for await (const _ of job) break
    client.close()
    const errors = await Promise.all([...waits, client.submit('greet'), client.rpc('get_node', node)].map(caught))
    assert.deepEqual(
      errors.map(({ code }) => code),
      Array(6).fill('CLIENT_CLOSED'),
    )
  })

  test('a result that nobody waits for is no unhandled rejection', async () => {
    await using server = await startScripted({
      commands: { subscribe_job: (peer, command) => peer.refuse(command, 'JOB_NOT_FOUND') },
    })
    await using client = fastClient(server)
    const job = client.job(JOB)
    void job.result
    await caught(sequences(job))
  })
})
