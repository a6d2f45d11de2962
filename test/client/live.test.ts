// The client and the real server: the same calls through the lifecycle's own operations, and without them.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import { createClient, JobError } from '../../src/client/node.ts'
import type { JobEvent } from '../../src/client/public.ts'
import { canonicalJson } from '../../src/shared/json.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { gated, graph, node, startBench, stored } from '../sockets/kit.ts'
import { caught, sequences } from './kit.ts'

/** Fails with what it is given. */
const failing = graph(
  [node('in', 'input.Any', { name: 'x' }), node('fail', 'test.Fail'), node('out', 'output.Output', { name: 'out' })],
  ['in.output->fail.value', 'fail.output->out.value'],
)
const passing = graph(
  [node('in', 'input.Any', { name: 'x' }), node('out', 'output.Output', { name: 'out' })],
  ['in.output->out.value'],
)
/** Waits for a value from outside. */
const suspended = graph(
  [node('wait', 'control.WaitFor', { name: 'answer' }), node('out', 'output.Output', { name: 'out' })],
  ['wait.value->out.value'],
)

for (const [door, environment] of [
  ['the lifecycle’s own operations', { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }],
  ['runs in the background', {}],
] as const) {
  describe(`by ${door}`, () => {
    test('a workflow runs in one line', async () => {
      await using bench = await startBench({ environment })
      await using client = createClient({ url: bench.server.url })
      assert.deepEqual(await client.run('greeting', { name: 'Ada' }), { greeting: 'Hello, Ada!' })
    })

    test('a value with a member that is called __proto__ comes back as it was given', async () => {
      await using bench = await startBench({ environment })
      await using client = createClient({ url: bench.server.url })
      const value = JSON.parse('{"__proto__":{"a":1},"list":[{"__proto__":[2]}]}') as object
      const outputs = await client.run(await stored(bench.server, passing), { x: value })
      assert.equal(canonicalJson(outputs), canonicalJson({ out: value }))
    })

    test('a job is followed, attached to, and read twice', async () => {
      await using bench = await startBench({ environment })
      await using client = createClient({ url: bench.server.url })
      const id = await stored(bench.server, gated('k'))
      const job = await client.submit(id, { x: 'Ada' })
      const seen: JobEvent[] = []
      const read = (async () => {
        for await (const event of job) seen.push(event)
      })()
      await bench.gates.at('k')
      await until('events', () => seen.length >= 2)
      assert.equal((await job.snapshot()).status, 'running')
      const half = job.last_sequence
      await bench.gates.open('k')
      await read
      const all = Array.from({ length: seen.length }, (_, at) => at + 1)
      assert.deepEqual(
        seen.map(({ sequence }) => sequence),
        all,
      )
      assert.equal(seen.at(-1)?.type, 'job_terminal')
      assert.deepEqual([(await job.result).outputs, job.status, job.missed], [{ out: 'Ada' }, 'completed', []])
      assert.deepEqual(await sequences(job), all)
      assert.deepEqual(await sequences(client.job(job.job_id, { after_sequence: half })), all.slice(half))
      assert.deepEqual(await sequences(client.job(job.job_id, { after_sequence: seen.length })), [])
    })

    test('a failure and a cancellation are errors with a code', async () => {
      await using bench = await startBench({ environment })
      await using client = createClient({ url: bench.server.url })
      const failed = await caught(client.run(await stored(bench.server, failing), { x: 'Ada' }))
      assert.ok(failed instanceof JobError)
      assert.deepEqual([failed.code, failed.message, failed.snapshot.error?.node_id], ['JOB_FAILED', 'Ada', 'fail'])
      const job = await client.submit(await stored(bench.server, gated('k')), { x: 'Ada' })
      await bench.gates.at('k')
      const { result } = job
      await job.cancel()
      assert.equal((await caught(result)).code, 'JOB_CANCELLED')
      assert.equal((await job.cancel()).status, 'cancelled')
    })

    test('a run that is given up is cancelled, whenever that happens', async () => {
      await using bench = await startBench({ environment })
      const id = await stored(bench.server, suspended)
      const jobs = async () => {
        const found = await fetch(`${bench.server.url}/api/jobs?workflow_id=${id}`)
        return (await found.json()) as { job_id: string; status: string }[]
      }
      for (const patience of [0, 1, 2, 4, 8, 16]) {
        await using client = createClient({ url: bench.server.url })
        await client.capabilities()
        const abort = new AbortController()
        const ran = client.run(id, {}, { signal: abort.signal, cancel_on_abort: true })
        setTimeout(() => abort.abort(new Error('enough')), patience)
        await assert.rejects(ran, /enough/)
      }
      await until('every end', async () => (await jobs()).every(({ status }) => status === 'cancelled'))
    })

    test('what cannot run says why', async () => {
      await using bench = await startBench({ environment })
      await using client = createClient({ url: bench.server.url })
      const unknown = await caught(client.run('no-such-workflow'))
      assert.deepEqual([unknown.code, unknown.retryable], ['WORKFLOW_NOT_FOUND', false])
      const incomplete = await caught(client.run('greeting', { nmae: 'Ada' }))
      assert.match(incomplete.code, /^(PREFLIGHT_FAILED|INVALID_PARAMETERS)$/)
      assert.ok(incomplete.problems.length >= 2)
      const nobody = client.job('job_of_nobody')
      assert.equal((await caught(nobody.result)).code, 'JOB_NOT_FOUND')
      assert.equal((await caught(nobody.snapshot())).code, 'JOB_NOT_FOUND')
    })
  })
}

describe('beside jobs', () => {
  test('a server whose profile is off runs workflows all the same', async () => {
    await using bench = await startBench({ environment: { SVC_DISABLE_SDK_LIFECYCLE_V1: '1' } })
    await using client = createClient({ url: bench.server.url })
    assert.deepEqual(await client.run('greeting', { name: 'Ada' }), { greeting: 'Hello, Ada!' })
    assert.equal((await caught(client.capabilities())).code, 'SDK_LIFECYCLE_DISABLED')
  })

  test('commands, operations and discovery are typed and answered, in both encodings', async () => {
    await using bench = await startBench()
    for (const encoding of ['messagepack', 'json-text'] as const) {
      await using client = createClient({ url: `${bench.server.url}/`, encoding })
      const { name } = await client.rpc('get_workflow_interface', { id: 'greeting' }).then(({ inputs }) => inputs[0]!)
      assert.equal(name, 'name')
      const unknown = await caught(client.rpc('get_node', { node_type: 'no.Such' }))
      assert.deepEqual([unknown.code, unknown.status], ['NOT_FOUND', null])
      const { data } = await client.http.GET('/api/workflows/examples')
      assert.ok(data?.some(({ id }) => id === 'greeting'))
      assert.equal((await client.capabilities()).protocol_version, '1')
      const summary = await client.preflight({ workflow_id: 'greeting', inputs: { name: 'Ada' } })
      assert.equal(summary.runnable, true)
    }
  })

  test('a file is uploaded with progress, from whatever holds it, and a run can refer to it', async () => {
    await using bench = await startBench()
    await using client = createClient({ url: bench.server.url })
    const bytes = new Uint8Array(700_000).fill(65)
    const sources = [
      bytes,
      bytes.buffer,
      new File([bytes], 'a.txt', { type: 'application/x-test' }),
      new Blob([bytes]).stream(),
      (async function* () {
        for (let at = 0; at < 7; at++) yield bytes.subarray(0, 100_000)
      })(),
    ]
    for (const source of sources) {
      const told: number[] = []
      const file = await client.upload(source, {
        ...(source instanceof File ? {} : { name: 'übung.txt', content_type: 'application/x-test' }),
        onProgress: ({ sent }) => told.push(sent),
      })
      assert.deepEqual([file.size, file.content_type], [bytes.length, 'application/x-test'])
      assert.equal(file.name, source instanceof File ? 'a.txt' : 'übung.txt')
      assert.equal(told.at(-1), bytes.length)
      assert.deepEqual(
        told,
        told.toSorted((one, other) => one - other),
      )
      const stored = await fetch(new URL(file.uri, bench.server.url))
      assert.deepEqual(new Uint8Array(await stored.arrayBuffer()), bytes)
    }
  })

  test('an upload is given up by its signal, and refused with a code', async () => {
    await using bench = await startBench({ config: { max_upload_bytes: 1_000 } })
    await using client = createClient({ url: bench.server.url })
    const controller = new AbortController()
    const reason = new Error('enough')
    async function* endless() {
      yield new Uint8Array(10)
      controller.abort(reason)
      yield new Uint8Array(10)
      await new Promise(() => {})
    }
    await assert.rejects(client.upload(endless(), { signal: controller.signal }), reason)
    const large = await caught(client.upload(new Uint8Array(1_001)))
    assert.deepEqual([large.code, large.status, large.retryable], ['UPLOAD_TOO_LARGE', 413, false])
  })

  test('a submission under the same key is the same job, with other inputs a conflict', async () => {
    await using bench = await startBench({ environment: { SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' } })
    await using client = createClient({ url: bench.server.url })
    const options = { idempotency_key: 'once' }
    const [one, two] = await Promise.all([
      client.submit('greeting', { name: 'Ada' }, options),
      client.submit('greeting', { name: 'Ada' }, options),
    ])
    assert.equal(one.job_id, two.job_id)
    const conflict = await caught(client.submit('greeting', { name: 'Bob' }, options))
    assert.deepEqual([conflict.code, conflict.retryable], ['IDEMPOTENCY_CONFLICT', false])
    const stale = await caught(client.submit('greeting', { name: 'Ada' }, { workflow_etag: 'of-yesterday' }))
    assert.equal(stale.code, 'WORKFLOW_REVISION_CONFLICT')
  })

  test('a job outlives the server that is restarted under it', async () => {
    for (const environment of [{ SVC_ENABLE_SDK_LIFECYCLE_PREVIEW: '1' }, {}]) {
      const data_dir = temporaryFolder()
      try {
        const first = await startBench({ environment, data_dir })
        const port = Number(new URL(first.server.url).port)
        await using client = createClient({ url: first.server.url, backoff: { base_ms: 20, max_ms: 100 } })
        const job = await client.submit(await stored(first.server, suspended))
        const read = sequences(job)
        await until('the wait', () => job.status === 'suspended')
        await first[Symbol.asyncDispose]()
        await using _second = await startBench({ environment, data_dir, config: { port } })
        const path = { id: job.job_id }
        const resumed = await client.http.POST('/api/jobs/{id}/resume', { params: { path }, body: { value: 7 } })
        assert.equal(resumed.response.status, 200)
        const seen = await read
        assert.deepEqual(
          seen,
          seen.map((_, at) => at + 1),
        )
        assert.deepEqual([(await job.result).outputs, job.missed], [{ out: 7 }, []])
      } finally {
        rmSync(data_dir, { recursive: true, force: true })
      }
    }
  })
})
