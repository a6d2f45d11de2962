// The lifecycle's own door against a server that breaks every promise of the network: what the caller sees is one job, whole.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type JobError, ServiceError } from '../../src/client/node.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { until } from '../helpers/server.ts'
import {
  type Command,
  caught,
  fastClient,
  historyOf,
  JOB,
  type Peer,
  sequences,
  snapshot,
  startScripted,
  statusEvent,
  terminalEvent,
} from './kit.ts'

type Answer = (peer: Peer, command: Command) => void

/** Answers the first, the second … time; the last one from then on. */
function turns(...answers: Answer[]): Answer {
  let at = 0
  return (peer, command) => answers[Math.min(at++, answers.length - 1)]!(peer, command)
}

/** Replays the rest of a history of `count` events. */
function whole(count: number): Answer {
  return (peer, command) =>
    peer.subscribe(command, snapshot('completed', count), historyOf(count).slice(Number(command.data.after_sequence)))
}

const hangUp: Answer = (peer) => peer.ws.terminate()
const code = (expected: string) => (error: unknown) => error instanceof ServiceError && error.code === expected

describe('a job over the socket', () => {
  test('submit_job has a key, the etag and the version, subscribe_job the sequence, and the result is the manifest’s', async () => {
    await using server = await startScripted({ commands: { subscribe_job: whole(4) } })
    await using client = fastClient(server)
    assert.deepEqual(await client.run('greet', { name: 'Ada' }), { greeting: 'Hello, Ada!' })
    const [{ data }] = server.named('submit_job') as [Command]
    assert.deepEqual(
      [data.workflow_id, data.workflow_etag, data.interface_version, data.inputs],
      ['greet', 'etag-1', 1, { name: 'Ada' }],
    )
    assert.match(String(data.idempotency_key), /^[0-9a-f-]{36}$/)
    assert.deepEqual(server.named('subscribe_job')[0]?.data, { job_id: JOB, after_sequence: 0 })
    const ids = server.commands.map(({ request_id }) => request_id)
    assert.equal(new Set(ids).size, ids.length)
  })

  test('every consumer sees the whole history', async () => {
    await using server = await startScripted({ commands: { subscribe_job: whole(5) } })
    await using client = fastClient(server)
    const job = client.job(JOB)
    const [one, two] = await Promise.all([sequences(job), sequences(job), job.result])
    assert.deepEqual([one, two, await sequences(job)], Array(3).fill([1, 2, 3, 4, 5]))
    assert.equal(server.named('subscribe_job').length, 1)
    assert.deepEqual(await sequences(client.job(JOB, { after_sequence: 3 })), [4, 5])
  })

  test('a socket lost at every step costs nothing', async () => {
    await using server = await startScripted({
      commands: {
        get_workflow_interface: turns(hangUp, (peer, command) => peer.answer(command, { etag: 'etag-1' })),
        submit_job: turns(hangUp, (peer, command) => peer.answer(command, { job_id: JOB, status: 'accepted' })),
        subscribe_job: turns(
          hangUp,
          (peer, command) => {
            peer.subscribe(command, snapshot('running', 6))
            peer.ws.terminate()
          },
          (peer, command) => {
            peer.subscribe(command, snapshot('running', 6), historyOf(9).slice(0, 2))
            peer.ws.close(1012)
          },
          (peer, command) => {
            peer.subscribe(command, snapshot('running', 6), [])
            peer.ws.close(1001)
          },
          whole(9),
        ),
      },
    })
    await using client = fastClient(server)
    const job = await client.submit('greet', {})
    assert.deepEqual(await sequences(job), [1, 2, 3, 4, 5, 6, 7, 8, 9])
    const [first, second] = server.named('submit_job')
    assert.deepEqual(second?.data, first?.data)
    assert.notEqual(second?.request_id, first?.request_id)
    const asked = server.named('subscribe_job').map(({ data }) => data.after_sequence)
    assert.deepEqual([asked.length, asked.slice(0, 3)], [5, [0, 0, 0]])
    assert.ok(Number(asked[4]) >= Number(asked[3]))
  })

  test('a reconnection resumes after the last sequence', async () => {
    await using server = await startScripted({
      commands: {
        subscribe_job: turns(
          (peer, command) => peer.subscribe(command, snapshot('running', 2), historyOf(4).slice(0, 2)),
          whole(4),
        ),
      },
    })
    await using client = fastClient(server)
    const seen: number[] = []
    for await (const { sequence } of client.job(JOB)) {
      seen.push(sequence)
      if (sequence === 2) server.peers[0]?.ws.terminate()
    }
    assert.deepEqual(seen, [1, 2, 3, 4])
    assert.deepEqual(
      server.named('subscribe_job').map(({ data }) => data.after_sequence),
      [0, 2],
    )
  })

  test('duplicates, another order, unknown frames, types and fields change nothing', async () => {
    await using server = await startScripted({
      commands: {
        subscribe_job(peer, command) {
          peer.send({ type: 'tomorrow', job_id: JOB })
          peer.send({ neither: 'command nor type' })
          peer.ws.send(new Uint8Array([0xc1]))
          peer.ws.send('{"broken')
          peer.subscribe(command, snapshot('running', 3))
          const events = [
            statusEvent(2),
            statusEvent(1),
            { ...statusEvent(1), status: 'suspended' },
            { ...statusEvent(3), type: 'job_weather', more: 1 },
            { ...statusEvent(5), unheard_of: { of: 1 } },
            statusEvent(4),
            terminalEvent(6),
            terminalEvent(6),
          ]
          for (const event of events) peer.event(event)
        },
      },
    })
    await using client = fastClient(server)
    const job = client.job(JOB)
    assert.deepEqual(await sequences(job), [1, 2, 4, 5, 6])
    assert.deepEqual([job.status, job.missed], ['completed', []])
    assert.equal(server.named('subscribe_job').length, 1)
  })

  test('a second answer to a request, and one to none, are ignored', async () => {
    await using server = await startScripted({
      commands: {
        get_job_snapshot(peer, command) {
          peer.answer({ ...command, request_id: 'nobody' }, snapshot('failed', 1))
          peer.answer(command, snapshot('running', 1))
          peer.answer(command, snapshot('cancelled', 1))
        },
      },
    })
    await using client = fastClient(server)
    const job = client.job(JOB)
    assert.equal((await job.snapshot()).status, 'running')
    assert.equal((await job.snapshot()).status, 'running')
    assert.equal(job.status, 'running')
  })

  test('answers may come in another order than the requests', async () => {
    const held: Command[] = []
    await using server = await startScripted({
      commands: {
        get_node(peer, command) {
          if (held.push(command) < 3) return
          for (const one of held.reverse()) peer.answer(one, { node_type: one.data.node_type })
        },
      },
    })
    await using client = fastClient(server)
    const asked = ['a', 'b', 'c'].map((node_type) => client.rpc('get_node', { node_type }))
    assert.deepEqual(
      (await Promise.all(asked)).map(({ node_type }) => node_type),
      ['a', 'b', 'c'],
    )
  })
})

describe('missing events', () => {
  test('are asked for again', async () => {
    await using server = await startScripted({
      commands: {
        subscribe_job: turns(
          (peer, command) => peer.subscribe(command, snapshot('running', 4), [statusEvent(1), statusEvent(4)]),
          whole(5),
        ),
      },
    })
    await using client = fastClient(server)
    const job = client.job(JOB)
    assert.deepEqual(await sequences(job), [1, 2, 3, 4, 5])
    assert.deepEqual(job.missed, [])
    assert.equal(server.named('subscribe_job')[1]?.data.after_sequence, 1)
  })

  test('that do not come are done without: the snapshot counts', async () => {
    await using server = await startScripted({
      commands: {
        subscribe_job: (peer, command) =>
          peer.subscribe(command, snapshot('running', 4), [statusEvent(1), statusEvent(4)]),
        get_job_snapshot(peer, command) {
          peer.answer(command, snapshot('running', 4))
          peer.event(terminalEvent(5))
        },
      },
    })
    await using client = fastClient(server)
    const job = client.job(JOB)
    assert.deepEqual(await sequences(job), [1, 4, 5])
    assert.deepEqual(job.missed, [{ from: 2, to: 3 }])
    assert.equal((await job.result).outputs.greeting, 'Hello, Ada!')
    assert.ok(server.named('get_job_snapshot').length >= 1)
  })

  test('past their retention are skipped at once', async () => {
    await using server = await startScripted({
      commands: {
        subscribe_job(peer, command) {
          const facts = { job_id: JOB, requested_after_sequence: 0, replay_from_sequence: null, replay_to_sequence: 7 }
          peer.answer(command, { ...facts, snapshot: snapshot('running', 7) })
          peer.event(statusEvent(8))
          peer.event(terminalEvent(9))
        },
      },
    })
    await using client = fastClient(server)
    const job = client.job(JOB)
    assert.deepEqual([await sequences(job), job.missed], [[8, 9], [{ from: 1, to: 7 }]])
  })

  test('of a job that has ended are not waited for: the snapshot is the end', async () => {
    await using server = await startScripted({
      commands: {
        subscribe_job: (peer, command) => peer.subscribe(command, snapshot('completed', 3), [statusEvent(1)]),
        get_job_snapshot: (peer, command) => peer.answer(command, snapshot('completed', 3)),
      },
    })
    await using client = fastClient(server, { times: { gap_ms: 10 } })
    const job = client.job(JOB)
    assert.equal((await job.result).outputs.greeting, 'Hello, Ada!')
    assert.deepEqual([await sequences(job), job.missed], [[1], [{ from: 2, to: 3 }]])
  })

  test('do not hide the end: a snapshot after a lost socket ends the job', async () => {
    await using server = await startScripted({
      commands: {
        subscribe_job: turns(
          (peer, command) => {
            peer.subscribe(command, snapshot('running', 1), [statusEvent(1)])
            peer.ws.close(1012)
          },
          (peer, command) => peer.subscribe(command, snapshot('failed', 1)),
        ),
      },
    })
    await using client = fastClient(server)
    const job = client.job(JOB)
    await assert.rejects(job.result, (error: JobError) => error.code === 'JOB_FAILED' && error.message === 'It broke.')
    assert.deepEqual([await sequences(job), job.status], [[1], 'failed'])
  })
})

describe('a cancellation', () => {
  test('is no end before a snapshot says so', async () => {
    await using server = await startScripted({
      commands: {
        subscribe_job: (peer, command) => peer.subscribe(command, snapshot('running', 1), [statusEvent(1)]),
        request_job_cancellation(peer, command) {
          const facts = { job_id: JOB, status: 'cancel_requested', cancel_requested: true }
          peer.answer(command, { ...facts, snapshot: snapshot('cancel_requested', 2) })
        },
      },
    })
    await using client = fastClient(server)
    const job = client.job(JOB)
    const result = job.result
    await until('the first event', () => job.last_sequence === 1)
    assert.equal((await job.cancel()).status, 'cancel_requested')
    assert.equal(job.status, 'cancel_requested')
    const first = await Promise.race([
      result.catch(() => 'over'),
      new Promise((resolve) => setImmediate(resolve, 'open')),
    ])
    assert.equal(first, 'open')
    // What ran was faster than the cancellation.
    server.peers[0]?.event(statusEvent(2, 'cancel_requested'))
    server.peers[0]?.event(terminalEvent(3))
    assert.equal((await result).outputs.greeting, 'Hello, Ada!')
  })

  test('that is answered as cancelled ends the job', async () => {
    await using server = await startScripted({
      commands: {
        subscribe_job: (peer, command) => peer.subscribe(command, snapshot('queued', 1), [statusEvent(1, 'queued')]),
        request_job_cancellation: (peer, command) =>
          peer.answer(command, { job_id: JOB, status: 'cancelled', snapshot: snapshot('cancelled', 1) }),
      },
    })
    await using client = fastClient(server)
    const job = client.job(JOB)
    const { result } = job
    await job.cancel()
    await assert.rejects(result, code('JOB_CANCELLED'))
  })
})

describe('a socket', () => {
  test('speaks MessagePack or text, and understands both at any time', async () => {
    for (const encoding of ['messagepack', 'json-text'] as const) {
      await using server = await startScripted({
        commands: {
          set_mode() {},
          get_node(peer, command) {
            const frame = {
              type: 'rpc_response',
              command: 'get_node',
              request_id: command.request_id,
              result: command.data,
            }
            peer.send(frame, command.data.node_type === 'as-text' ? 'text' : 'binary')
          },
        },
      })
      await using client = fastClient(server, { encoding })
      for (const node_type of ['as-text', 'as-binary', 'as-text'])
        assert.deepEqual({ ...(await client.rpc('get_node', { node_type })) }, { node_type })
      assert.ok(server.named('get_node').every(({ binary }) => binary === (encoding === 'messagepack')))
      assert.equal(server.named('set_mode').length, encoding === 'messagepack' ? 0 : 1)
    }
  })

  test('answers a ping', async () => {
    await using server = await startScripted({
      opened: (peer) => peer.send({ type: 'ping', ts: 17 }),
      commands: { get_node: (peer, command) => peer.answer(command, {}) },
    })
    await using client = fastClient(server)
    await client.rpc('get_node', { node_type: 'x' })
    await until('the pong', () => server.commands.some((one) => JSON.stringify(one).includes('"type":"pong","ts":17')))
  })

  test('that has fallen silent is given up, and its jobs go on over another one', async () => {
    await withMoreTime(60, async (silence_ms) => {
      await using server = await startScripted({
        commands: {
          subscribe_job: turns((peer, command) => {
            peer.subscribe(command, snapshot('running', 1), [statusEvent(1)])
            // Nothing is heard of it any more, and nothing read.
            peer.ws.pause()
          }, whole(3)),
        },
      })
      await using client = fastClient(server, { times: { silence_ms } })
      assert.deepEqual(await sequences(client.job(JOB)), [1, 2, 3])
      assert.deepEqual(
        server.named('subscribe_job').map(({ socket, data }) => [socket, data.after_sequence]),
        [
          [0, 0],
          [1, 1],
        ],
      )
    })
  })

  test('that nobody needs is closed, and opened again when somebody does', async () => {
    await using server = await startScripted({ commands: { get_node: (peer, command) => peer.answer(command, {}) } })
    await using client = fastClient(server)
    await client.rpc('get_node', { node_type: 'x' })
    await until('an end', () => server.peers[0]?.ws.readyState === 3)
    await client.rpc('get_node', { node_type: 'x' })
    assert.equal(server.peers.length, 2)
  })

  test('stays away longer and longer from a server that is not there', async () => {
    await using server = await startScripted({ upgrade: () => 503 })
    await using client = fastClient(server, { backoff: { base_ms: 10, max_ms: 1_000, attempts: 4 } })
    const start = performance.now()
    const failed = await caught(client.rpc('get_node', { node_type: 'x' }))
    assert.deepEqual([failed.code, failed.status, failed.retryable], ['SERVICE_UNAVAILABLE', 503, true])
    // 10 + 20 + 40 ms, of which at most half is left to chance.
    assert.ok(performance.now() - start >= 35)
  })

  test('is not held back by a Retry-After that is too long', async () => {
    for (const retry_after of [3_600, 99_999_999_999]) {
      let upgrades = 0
      const upgrade = () => {
        upgrades++
        return 503
      }
      await using server = await startScripted({ retry_after, upgrade })
      await using client = fastClient(server)
      const signal = AbortSignal.timeout(5_000)
      const failed = await caught(client.rpc('get_node', { node_type: 'x' }, { signal }))
      assert.deepEqual([failed.code, failed.retry_after_ms], ['SERVICE_UNAVAILABLE', retry_after * 1_000])
      assert.equal((await caught(client.job('job_1').wait({ signal }))).code, 'SERVICE_UNAVAILABLE')
      assert.equal(upgrades, 2)
    }
  })

  test('does not send more in a second than it may', async () => {
    await using server = await startScripted({ commands: { get_node: (peer, command) => peer.answer(command, {}) } })
    await using client = fastClient(server, { messages_per_second: 20 })
    const start = performance.now()
    await Promise.all(Array.from({ length: 25 }, () => client.rpc('get_node', { node_type: 'x' })))
    assert.ok(performance.now() - start >= 900)
  })
})
