// Suspended jobs, which wait for a person, a value, or time. They cost nothing meanwhile, survive a restart, and are resumed with their answers.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { describe, test } from 'node:test'
import type { WaitingFor } from '../../generated/types.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import { ANY_TYPE, readTypeMetadata } from '../../src/engine/node-api/values/type-metadata.ts'
import type { Problem, ServiceError } from '../../src/errors.ts'
import { readJobSnapshot } from '../../src/jobs/queries.ts'
import { graph, node, output, sink, source, testType } from '../engine/kit.ts'
import { longestTurn } from '../helpers/loop.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { coded, ended, gated, history, OWNER, outputs, startGated, submit, valid, words } from './kit.ts'

const approval = graph(
  [source('in', 'x'), node('ask', 'human.Approval', { message: 'Send it?' }), sink('yes'), sink('no')],
  ['in.output->ask.value', 'ask.approved->yes.value', 'ask.rejected->no.value'],
)

const awaited = (schema: object | null, name = 'answer') =>
  graph([node('wait', 'control.WaitFor', { name, schema }), sink('out')], ['wait.value->out.value'])

const answer = (value: unknown, more: { node_id?: string; name?: string } = {}) => ({
  node_id: null,
  name: null,
  ...more,
  value,
  at: '/body',
})

async function suspended({ context }: TestServer, id: string): Promise<WaitingFor[]> {
  return until('the job to wait', async () => {
    const handle = await context.runs.jobs.get(OWNER, id)
    const snapshot = await readJobSnapshot(context.runs, handle)
    valid('JobSnapshot', snapshot)
    return snapshot.status === 'suspended' && handle.active === null && snapshot.waiting
  })
}

/** Validating with a costly schema takes long on a busy machine. */

/** The problems of a refused value. */
async function problems(resumed: Promise<unknown>): Promise<Problem[]> {
  const error = await resumed.then(
    () => assert.fail('the value was taken'),
    (reason: ServiceError) => reason,
  )
  coded('INVALID_PARAMETERS')(error)
  return [...(error.problems ?? [])]
}

/** A schema within the limits of length that takes several times as long to compile as it may. */
function costly(): object {
  const properties = Object.fromEntries(Array.from({ length: 5500 }, (_, i) => [`p${i}`, {}]))
  return { properties, unevaluatedProperties: false }
}

test('a job whose wait requests are too large for one row fails with the reason', async () => {
  await using server = await startGated()
  const asking = (count: number) =>
    graph(
      [
        node('numbers', 'control.Numbers', { from: 1, to: count }),
        node('ask', 'human.Approval', { message: 'x'.repeat(990_000) }),
        sink('yes'),
      ],
      ['numbers.item->ask.value', 'ask.approved->yes.value'],
    )
  const four = submit(server, { graph: asking(4) })
  await four.settled()
  assert.equal((await suspended(server, four.row.id)).length, 4)
  const five = submit(server, { graph: asking(5) })
  await five.settled()
  const row = await ended(server, five.row.id)
  assert.deepEqual([row.status, row.waiting], ['failed', null])
  assert.match(String(row.error), /"message":"The requests that the job waits for have more than 4 million characters/)
})

test('names of firings count towards the size of wait requests', async () => {
  await using server = await startGated()
  const asking = (count: number) =>
    graph(
      Array.from({ length: count }, (_, at) => node(`${'a'.repeat(500)}${at}`, 'human.Approval', {})),
      [],
    )
  const some = submit(server, { graph: asking(100) })
  await some.settled()
  assert.equal((await suspended(server, some.row.id)).length, 100)
  const many = submit(server, { graph: asking(4_000) })
  await many.settled()
  const row = await ended(server, many.row.id)
  assert.deepEqual([row.status, row.waiting], ['failed', null])
  assert.match(String(row.error), /"message":"The requests that the job waits for have more than 4 million characters/)
})

describe('a job that waits for a person', () => {
  for (const [value, given] of [
    [true, { yes: 'x' }],
    [false, { no: 'x' }],
  ] as const) {
    test(`is resumed with ${value}`, async () => {
      await using server = await startGated()
      const { jobs } = server.context.runs
      const job = submit(server, { graph: approval })
      await job.settled()
      assert.deepEqual(await suspended(server, job.row.id), [
        { node_id: 'ask', kind: 'approval', name: null, message: 'Send it?', schema: { type: 'boolean' } },
      ])
      assert.deepEqual(jobs.load, { running: 0, waiting: 0 })
      const { row } = await jobs.resume(OWNER, job.row.id, answer(value))
      assert.notEqual(row.status, 'paused')
      assert.deepEqual(outputs(await ended(server, job.row.id)), given)
      const told = (await history(server, job.row)).map(words)
      assert.deepEqual(
        told.filter((word) => word.startsWith('status')),
        ['status accepted', 'status running', 'status suspended', 'status running'],
      )
      assert.equal(new Set(told.filter((word) => word.startsWith('node'))).size, 8 - 1)
    })
  }

  test('is there after a restart, and the approval then completes it', async () => {
    const data_dir = temporaryFolder()
    try {
      let id: string
      {
        await using server = await startGated({ data_dir })
        const job = submit(server, { graph: approval })
        id = job.row.id
        await suspended(server, id)
      }
      await using server = await startGated({ data_dir })
      assert.equal((await suspended(server, id)).length, 1)
      await server.context.runs.jobs.resume(OWNER, id, answer(true))
      assert.deepEqual(outputs(await ended(server, id)), { yes: 'x' })
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })

  test('is seen to continue by followers from before and from during the wait', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: approval })
    const early = history(server, job.row)
    await suspended(server, job.row.id)
    const late = history(server, job.row)
    await server.context.runs.jobs.resume(OWNER, job.row.id, answer(true))
    assert.deepEqual(await early, await late)
    assert.equal(server.context.runs.events.feed(job.row.key), undefined, 'nothing is left of it in memory')
  })

  test('can be cancelled while it waits', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: approval })
    await suspended(server, job.row.id)
    const { row } = await server.context.runs.jobs.cancel(OWNER, job.row.id)
    assert.deepEqual([row.status, row.waiting, row.wake_at], ['cancelled', null, null])
    assert.deepEqual((await history(server, row)).map(words).slice(-3), [
      'status suspended',
      'status cancel_requested',
      'end cancelled',
    ])
  })

  test('ends as timed out when its time is over', async () => {
    await using server = await startGated()
    await withMoreTime(1_000, async (ms) => {
      const job = submit(server, { graph: approval, timeout_seconds: ms / 1_000 })
      const row = await ended(server, job.row.id)
      assert.equal(row.status, 'timed_out')
      assert.ok((await history(server, row)).map(words).includes('status suspended'))
    })
  })
})

describe('a value for a job that waits', () => {
  const schema = { type: 'object', properties: { age: { type: 'integer', minimum: 1 } }, required: ['age'] }

  test('that does not match the schema is refused with its path, and the job stays as it is', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const job = submit(server, { graph: awaited(schema) })
    await suspended(server, job.row.id)
    const before = await readJobSnapshot(server.context.runs, await jobs.get(OWNER, job.row.id))
    await assert.rejects(jobs.resume(OWNER, job.row.id, answer({ age: 0 })), (error) => {
      coded('INVALID_PARAMETERS')(error)
      assert.deepEqual((error as { problems: unknown }).problems, [
        { path: '/body/value/age', message: 'must be >= 1' },
      ])
      return true
    })
    assert.deepEqual(await readJobSnapshot(server.context.runs, await jobs.get(OWNER, job.row.id)), before)
    await jobs.resume(OWNER, job.row.id, answer({ age: 3 }))
    assert.deepEqual(outputs(await ended(server, job.row.id)), { out: { age: 3 } })
  })

  test('for which there is no room resumes the job when it is sent again', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1, max_queued_jobs: 1 } })
    const { jobs } = server.context.runs
    const job = submit(server, { graph: awaited(null) })
    await suspended(server, job.row.id)
    for (let at = 0; at < 2; at++) await submit(server, { graph: gated }).accepted()
    await assert.rejects(jobs.resume(OWNER, job.row.id, answer(1)), coded('QUEUE_FULL'))
    for (let at = 0; at < 2; at++) (await until('a firing', () => server.gate.waiting[0])).open()
    await until('room', () => jobs.load.running === 0)
    await jobs.resume(OWNER, job.row.id, answer(2))
    assert.deepEqual(outputs(await ended(server, job.row.id)), { out: 2 })
  })

  test('is refused with all of its problems, up to 20', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const lists = { ...schema, additionalProperties: { type: 'string' } }
    const job = submit(server, { graph: awaited(lists) })
    await suspended(server, job.row.id)
    assert.deepEqual(await problems(jobs.resume(OWNER, job.row.id, answer({ age: 0.5, name: 1 }))), [
      { path: '/body/value/name', message: 'must be string' },
      { path: '/body/value/age', message: 'must be integer' },
      { path: '/body/value/age', message: 'must be >= 1' },
    ])
    const wrong = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`n${i}`, i]))
    assert.equal((await problems(jobs.resume(OWNER, job.row.id, answer(wrong)))).length, 20)
  })

  test('is validated in a separate thread, so that an endless schema delays no other request', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const endless = { properties: { a: { allOf: [{ $ref: '#' }, { $ref: '#' }] } } }
    const job = submit(server, { graph: awaited(endless) })
    await suspended(server, job.row.id)
    let deep: object = {}
    for (let i = 0; i < 40; i++) deep = { a: deep }
    // This is CPU time, since a busy machine delays every event loop.
    const longest = await longestTurn(async () => {
      const [problem] = await problems(jobs.resume(OWNER, job.row.id, answer(deep)))
      assert.match(problem!.message, /too much work/)
    })
    assert.ok(longest < 900, `the event loop stood still for ${longest} ms`)
    await jobs.resume(OWNER, job.row.id, answer({}))
    await ended(server, job.row.id)
  })

  test('may come while another value is validated, and one of them is accepted', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const job = submit(server, { graph: awaited(schema) })
    await suspended(server, job.row.id)
    const both = await Promise.allSettled([1, 2].map((age) => jobs.resume(OWNER, job.row.id, answer({ age }))))
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    await ended(server, job.row.id)
  })

  for (const [what, bad] of Object.entries({
    'is no schema': { type: 'strng' },
    'is of an unknown draft': { $schema: 'http://json-schema.org/draft-04/schema#' },
    'is asynchronous': { $async: true, type: 'string' },
    'is too long': { description: 'x'.repeat(70_000) },
  })) {
    test(`cannot be waited for where its schema ${what}: the submission is refused`, async () => {
      await using server = await startGated()
      assert.throws(() => submit(server, { graph: awaited(bad) }), coded('INVALID_WORKFLOW_GRAPH'))
    })
  }

  for (const [what, bad] of Object.entries({
    'is asynchronous within': { properties: { a: { $async: true, type: 'string' } } },
    'refers to another place': { $ref: 'http://127.0.0.1:1/schema' },
    'refers to itself without end': { $ref: '#' },
    'takes too long to compile': costly(),
  })) {
    test(`cannot be waited for where its schema ${what}: the job fails`, async () => {
      await using server = await startGated()
      const job = submit(server, { graph: awaited(bad) })
      const row = await ended(server, job.row.id)
      assert.equal(row.status, 'failed')
      assert.match(row.error!, /bad_schema/)
    })
  }

  test('is validated by a schema of an older draft like by a 2020-12 schema', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const older = { $schema: 'http://json-schema.org/draft-07/schema#', type: 'integer' }
    const job = submit(server, { graph: awaited(older) })
    assert.deepEqual((await suspended(server, job.row.id))[0]?.schema, older)
    await assert.rejects(jobs.resume(OWNER, job.row.id, answer('1')), coded('INVALID_PARAMETERS'))
    await jobs.resume(OWNER, job.row.id, answer(1))
    assert.deepEqual(outputs(await ended(server, job.row.id)), { out: 1 })
  })

  test('is validated against the unredacted request, where that is shown redacted', async () => {
    const secret = 'sup3rSecretValue99'
    await using server = await startGated({ environment: { OPENAI_API_KEY: secret } })
    const { jobs } = server.context.runs
    const hidden = { type: 'object', required: [secret], properties: { [secret]: { type: 'integer' } } }
    const waits = graph(
      [node(secret, 'control.WaitFor', { name: secret, schema: hidden }), node('b', 'control.WaitFor', { name: 'b' })],
      [],
    )
    const job = submit(server, { graph: waits })
    const shown = await suspended(server, job.row.id)
    assert.ok(
      shown.some(({ node_id }) => node_id === secret),
      'ids stay as they are',
    )
    assert.ok(!JSON.stringify(shown.map((one) => ({ ...one, node_id: '' }))).includes(secret))
    const refused = await problems(jobs.resume(OWNER, job.row.id, answer({}, { node_id: secret })))
    assert.equal(refused.length, 1)
    assert.ok(!JSON.stringify(refused).includes(secret), JSON.stringify(refused))
    await jobs.resume(OWNER, job.row.id, answer({ [secret]: 1 }, { name: secret }))
    assert.deepEqual(
      (await suspended(server, job.row.id)).map(({ node_id }) => node_id),
      ['b'],
    )
  })

  test('names its node where several wait', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const both = graph(
      [
        node('a', 'control.WaitFor', { name: 'first' }),
        node('b', 'control.WaitFor', { name: 'second' }),
        sink('x'),
        sink('y'),
      ],
      ['a.value->x.value', 'b.value->y.value'],
    )
    const job = submit(server, { graph: both })
    assert.equal((await suspended(server, job.row.id)).length, 2)
    await assert.rejects(jobs.resume(OWNER, job.row.id, answer(1)), coded('INVALID_PARAMETERS'))
    for (const [whom, path] of [
      [{ name: 'third' }, '/body/name'],
      [{ node_id: 'c' }, '/body/node_id'],
    ] as const) {
      assert.deepEqual(await problems(jobs.resume(OWNER, job.row.id, answer(1, whom))), [
        { path, message: 'No waiting node has this node_id or name. Waiting: a (name first), b (name second).' },
      ])
    }
    await jobs.resume(OWNER, job.row.id, answer(2, { name: 'second' }))
    assert.deepEqual(
      (await suspended(server, job.row.id)).map(({ node_id }) => node_id),
      ['a'],
    )
    await jobs.resume(OWNER, job.row.id, answer(1, { node_id: 'a' }))
    assert.deepEqual(outputs(await ended(server, job.row.id)), { x: 1, y: 2 })
  })

  test('is refused where the job is not waiting, and one of two concurrent values is accepted', async () => {
    await using server = await startGated()
    const { jobs } = server.context.runs
    const job = submit(server, { graph: awaited(null) })
    await suspended(server, job.row.id)
    const both = await Promise.allSettled([1, 2].map((value) => jobs.resume(OWNER, job.row.id, answer(value))))
    assert.deepEqual(both.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
    await ended(server, job.row.id)
    await assert.rejects(jobs.resume(OWNER, job.row.id, answer(1)), coded('JOB_NOT_SUSPENDED'))
    await assert.rejects(jobs.resume(OWNER, 'nowhere', answer(1)), coded('JOB_NOT_FOUND'))
    await assert.rejects(
      jobs.resume({ user_id: '2', workspace_id: null }, job.row.id, answer(1)),
      coded('JOB_NOT_FOUND'),
    )
  })
})

test('a request that waits for a job returns where the job is already suspended', async () => {
  await using server = await startGated()
  const job = submit(server, { graph: awaited(null) })
  await suspended(server, job.row.id)
  await job.settled()
  assert.equal((await server.context.runs.jobs.outcome(job, AbortSignal.timeout(60_000))).status, 'paused')
})

describe('a job that waits for time', () => {
  const delayed = graph(
    [source('in', 'x'), node('wait', 'control.Delay', { seconds: 3600 }), sink('out')],
    ['in.output->wait.value', 'wait.output->out.value'],
  )

  test('is suspended until then, over a restart, and takes no value', async () => {
    const data_dir = temporaryFolder()
    let now = Date.now()
    const real = (await import('../../src/platform.ts')).systemPlatform()
    const platform = { ...real, now: () => now, timestamp: () => new Date(now).toISOString() }
    try {
      let id: string
      {
        await using server = await startGated({ data_dir, platform })
        id = submit(server, { graph: delayed }).row.id
        const [waiting] = await suspended(server, id)
        assert.deepEqual([waiting?.kind, waiting?.node_id], ['delay', 'wait'])
        await assert.rejects(server.context.runs.jobs.resume(OWNER, id, answer(1)), coded('JOB_NOT_SUSPENDED'))
      }
      now += 3_600_000
      await using server = await startGated({ data_dir, platform })
      assert.deepEqual(outputs(await ended(server, id)), { out: 'x' })
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})

test('a job with an expression that this version cannot read continues with its accepted graph', async () => {
  const data_dir = temporaryFolder()
  const kind = testType('test.Kind', {
    properties: [
      { name: 'value', type: ANY_TYPE },
      { name: 'words', type: readTypeMetadata({ type: 'str' }), default: '' },
    ],
    outputs: [output],
    run: ({ value }) => ({ output: value }),
  })
  const reads = (): never => {
    throw new NodeError('The words cannot be read.')
  }
  const of = graph(
    [
      node('wait', 'control.WaitFor', { name: 'x' }),
      node('kind', 'test.Kind', { words: '(' }),
      node('out', 'output.Output', { name: 'out' }),
    ],
    ['wait.value->kind.value', 'kind.output->out.value'],
  )
  try {
    let id: string
    {
      await using server = await startGated({ data_dir, types: [kind] })
      id = submit(server, { graph: of }).row.id
      await suspended(server, id)
    }
    await using server = await startGated({ data_dir, types: [{ ...kind, expressions: { words: reads } }] })
    assert.throws(() => submit(server, { graph: of }), coded('INVALID_WORKFLOW_GRAPH'))
    await server.context.runs.jobs.resume(OWNER, id, answer(7))
    assert.deepEqual(outputs(await ended(server, id)), { out: 7 })
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
})
