// Giving up a submission or a wait: the caller is let go at once, and the job ends all the same where that is wanted.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ServiceError } from '../../src/client/node.ts'
import { until } from '../helpers/server.ts'
import { apiError, type Command, caught, fastClient, JOB, json, type Peer, snapshot, startScripted } from './kit.ts'

const reason = new Error('enough')
const CANCEL = 'request_job_cancellation'
const RUN = '/api/workflows/greet/run'
const silent = () => {}

type Answer = (peer: Peer, command: Command) => void

const accept: Answer = (peer, command) => peer.answer(command, { job_id: JOB, status: 'accepted' })
const cancelled: Answer = (peer, command) =>
  peer.answer(command, { job_id: JOB, status: 'cancelled', snapshot: snapshot('cancelled', 1) })

/** A server that holds answers to submissions back until it is told. */
async function holding(onCancel: Answer = cancelled) {
  const held: (() => void)[] = []
  const server = await startScripted({
    commands: {
      submit_job: (peer, command) => void held.push(() => accept(peer, command)),
      [CANCEL]: onCancel,
    },
  })
  return { server, held }
}

describe('a submission that is given up on its way', () => {
  test('is let go of at once, and its job cancelled where that is asked for', async () => {
    const { server, held } = await holding()
    await using _server = server
    await using client = fastClient(server)
    const abort = new AbortController()
    const ran = client.run('greet', {}, { signal: abort.signal, cancel_on_abort: true })
    await until('the submission', () => held.length === 1)
    abort.abort(reason)
    await assert.rejects(ran, reason)
    assert.equal(server.named(CANCEL).length, 0)
    held[0]!()
    await until('the cancellation', () => server.named(CANCEL).length === 1)
    assert.deepEqual(server.named(CANCEL)[0]?.data, { job_id: JOB })
  })

  test('is found by its key where its answer is lost as well', async () => {
    let count = 0
    const abort = new AbortController()
    await using server = await startScripted({
      commands: {
        submit_job(peer, command) {
          if (++count > 1) return accept(peer, command)
          abort.abort(reason)
          peer.ws.terminate()
        },
        [CANCEL]: cancelled,
      },
    })
    await using client = fastClient(server)
    await assert.rejects(client.submit('greet', {}, { signal: abort.signal, cancel_on_abort: true }), reason)
    await until('the cancellation', () => server.named(CANCEL).length === 1)
    const [first, second] = server.named('submit_job')
    assert.deepEqual(second?.data, first?.data)
  })

  test('is not sent again once it was refused', async () => {
    const abort = new AbortController()
    const held: (() => void)[] = []
    await using server = await startScripted({
      commands: {
        submit_job: (peer, command) => void held.push(() => peer.refuse(command, 'SERVICE_UNAVAILABLE', true)),
        get_node: (peer, command) => peer.answer(command, {}),
      },
    })
    await using client = fastClient(server)
    const submitted = client.submit('greet', {}, { signal: abort.signal, cancel_on_abort: true })
    await until('the submission', () => held.length === 1)
    abort.abort(reason)
    await assert.rejects(submitted, reason)
    held[0]!()
    await client[Symbol.asyncDispose]()
    assert.deepEqual([server.named('submit_job').length, server.named(CANCEL).length], [1, 0])
  })

  test('runs on without cancel_on_abort, and its job is told', async () => {
    const { server, held } = await holding()
    await using _server = server
    const told: string[] = []
    const client = fastClient(server)
    const abort = new AbortController()
    const onAccepted = (job_id: string) => void told.push(job_id)
    const submitted = client.submit('greet', {}, { signal: abort.signal, onAccepted })
    await until('the submission', () => held.length === 1)
    abort.abort(reason)
    await assert.rejects(submitted, reason)
    held[0]!()
    await client[Symbol.asyncDispose]()
    assert.deepEqual([told, server.named(CANCEL).length], [[JOB], 0])
  })

  test('is not sent where it had not left', async () => {
    const held: (() => void)[] = []
    await using server = await startScripted({
      commands: {
        get_workflow_interface: (peer, command) => void held.push(() => peer.answer(command, { etag: 'etag-1' })),
      },
    })
    const client = fastClient(server)
    const abort = new AbortController()
    const submitted = client.submit('greet', {}, { signal: abort.signal, cancel_on_abort: true })
    await until('the question', () => held.length === 1)
    abort.abort(reason)
    await assert.rejects(submitted, reason)
    held[0]!()
    await client[Symbol.asyncDispose]()
    assert.equal(server.named('submit_job').length, 0)
  })

  test('is not sent where it waited for its turn', async () => {
    await using server = await startScripted({})
    await using client = fastClient(server, { messages_per_second: 1 })
    const abort = new AbortController()
    const told: string[] = []
    const options = { signal: abort.signal, workflow_etag: 'etag-1' }
    const first = client.submit('greet', {}, options)
    const second = client.submit('greet', {}, { ...options, onAccepted: (job_id) => told.push(job_id) })
    const third = client.submit('greet', {}, options)
    await first
    abort.abort(reason)
    await assert.rejects(second, reason)
    await assert.rejects(third, reason)
    await client.rpc('get_node', { node_type: 'x' }, { signal: AbortSignal.timeout(1_200) }).catch(() => {})
    assert.deepEqual(
      server.commands.map(({ command }) => command),
      ['submit_job', 'get_node'],
    )
    assert.deepEqual(told, [])
  })

  test('over HTTP is cancelled as well, and not sent again after a refusal', async () => {
    for (const refused of [false, true]) {
      const held: (() => void)[] = []
      const paths: string[] = []
      await using server = await startScripted({
        jobs: 'disabled',
        http({ path }, response) {
          paths.push(path)
          if (path === RUN)
            held.push(() =>
              refused
                ? apiError(429, 'rate_limited')(response)
                : json(response, 202, { job_id: JOB, workflow_id: 'greet', status: 'accepted' }),
            )
          else if (path === `/api/jobs/${JOB}/cancel`) json(response, 200, snapshot('cancelled', 1))
          else return undefined
          return true
        },
      })
      const client = fastClient(server)
      const abort = new AbortController()
      const ran = client.run('greet', {}, { signal: abort.signal, cancel_on_abort: true })
      await until('the run', () => held.length === 1)
      abort.abort(reason)
      await assert.rejects(ran, reason)
      held[0]!()
      await client[Symbol.asyncDispose]()
      assert.deepEqual(paths.slice(1), refused ? [RUN] : [RUN, `/api/jobs/${JOB}/cancel`])
    }
  })
})

describe('a wait that is given up', () => {
  const waiting: Answer = (peer, command) => peer.subscribe(command, snapshot('running', 0))

  test('ends at once, whatever the server says to the cancellation', async () => {
    await using server = await startScripted({ commands: { subscribe_job: waiting, [CANCEL]: silent } })
    const client = fastClient(server, { times: { cancel_ms: 50, request_ms: 60_000 } })
    const abort = new AbortController()
    const ran = client.run('greet', {}, { signal: abort.signal, cancel_on_abort: true })
    await until('the subscription', () => server.named('subscribe_job').length === 1)
    abort.abort(reason)
    await assert.rejects(ran, reason)
    await until('the cancellation', () => server.named(CANCEL).length === 1)
    // Its limit is the end of it: else this would take as long as a request may.
    const start = performance.now()
    await client[Symbol.asyncDispose]()
    assert.ok(performance.now() - start < 20_000)
  })

  test('is cancelled before the client is disposed of', async () => {
    await using server = await startScripted({ commands: { subscribe_job: waiting, [CANCEL]: cancelled } })
    const abort = new AbortController()
    {
      await using client = fastClient(server)
      const ran = client.run('greet', {}, { signal: abort.signal, cancel_on_abort: true })
      await until('the subscription', () => server.named('subscribe_job').length === 1)
      abort.abort(reason)
      await assert.rejects(ran, reason)
    }
    assert.equal(server.named(CANCEL).length, 1)
  })
})

describe('onAccepted', () => {
  test('is given the job before the submission resolves, and what it throws is handed on', async () => {
    await using server = await startScripted({ commands: { submit_job: accept } })
    await using client = fastClient(server)
    const told: string[] = []
    const job = await client.submit('greet', {}, { onAccepted: (job_id) => void told.push(job_id) })
    assert.deepEqual(told, [job.job_id])
    const submitted = client.submit(
      'greet',
      {},
      {
        onAccepted() {
          throw reason
        },
      },
    )
    await assert.rejects(submitted, reason)
  })

  test('is told nothing of a submission that failed', async () => {
    await using server = await startScripted({
      commands: { submit_job: (peer, command) => peer.refuse(command, 'WORKFLOW_NOT_FOUND') },
    })
    await using client = fastClient(server)
    const error = await caught(client.submit('greet', {}, { onAccepted: () => assert.fail('there is no job') }))
    assert.ok(error instanceof ServiceError && error.code === 'WORKFLOW_NOT_FOUND')
  })
})
