// Tests that any request to the job operations of the preview gets one of the declared answers over both transports. None is a server
// error.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { SubmitJobResponse, Workflow } from '../../generated/types.ts'
import { type Schema, valuesAround } from '../contract/schema-values.ts'
import { call } from '../helpers/http.ts'
import { scaled } from '../helpers/scale.ts'
import { type Client, connect } from '../helpers/socket.ts'
import type { GatedServer } from '../jobs/kit.ts'
import { faults, QUICK, type SdkErrorBody, STRICT, startPreview, submissionOf, workflow } from './jobs-kit.ts'

const schemas: Readonly<Record<string, Schema>> = Object.assign(
  {},
  ...['asyncapi', 'openapi'].map(
    (name) => JSON.parse(readFileSync(`generated/${name}.json`, 'utf8')).components.schemas,
  ),
)

function resolve(schema: Schema): Schema {
  const name = schema.$ref?.split('/').at(-1)
  return name === undefined ? schema : resolve(schemas[name]!)
}

const RUNS = scaled(80)

let server: GatedServer
let client: Client
let workflows: Workflow[]
before(async () => {
  server = await startPreview({ config: { max_queued_jobs: 20 } })
  client = await connect(server, { mode: 'text' })
  workflows = [await workflow(server, QUICK), await workflow(server, STRICT)]
})
after(async () => {
  await client[Symbol.asyncDispose]()
  await server[Symbol.asyncDispose]()
})

const around = (name: string) => valuesAround({ $ref: `#/components/schemas/${name}` }, resolve)

const inputs = fc.oneof(
  fc.constant(null),
  fc.dictionary(
    fc.oneof(fc.constantFrom('in', 'n', '__proto__', 'a/b~', ''), fc.string()),
    fc.jsonValue({ maxDepth: 3 }),
  ),
)
/** Submissions that may be accepted, under few keys. */
const likely = fc
  .record({
    which: fc.nat(1),
    idempotency_key: fc.oneof(fc.constantFrom('a', 'b', 'c', 'ß '.repeat(100), '\u0000'), fc.uuid()),
    workflow_etag: fc.constantFrom(null, 'x'),
    inputs,
    options: fc.oneof(
      fc.constant(null),
      fc.record({
        concurrent: fc.constantFrom(null, true, false),
        require_terminal_result: fc.constantFrom(null, true, false),
      }),
    ),
  })
  .map(({ which, workflow_etag, ...more }) => ({
    which,
    more: { ...more, ...(workflow_etag === null ? {} : { workflow_etag }) },
  }))

const submission = fc
  .oneof(
    { weight: 2, arbitrary: around('SubmitJobRequest').map((body) => ({ body })) },
    { weight: 3, arbitrary: likely },
  )
  .map((one) => ('which' in one ? () => submissionOf(workflows[one.which]!, one.more) : () => one.body))

const REFUSALS = [
  'INVALID_REQUEST',
  'WORKFLOW_NOT_FOUND',
  'IDEMPOTENCY_CONFLICT',
  'WORKFLOW_REVISION_CONFLICT',
  'PREFLIGHT_FAILED',
  'QUEUE_FULL',
]

describe('any request', () => {
  test('gets one of the answers of submitJob', async () => {
    const seen = new Set<number>()
    await fc.assert(
      fc.asyncProperty(submission, async (make) => {
        const answer = await call<SubmitJobResponse | SdkErrorBody>(server, 'POST', '/api/sdk/v1/jobs', {
          body: make(),
        })
        seen.add(answer.status)
        if (answer.status === 202) return assert.equal((answer.body as SubmitJobResponse).preflight.runnable, true)
        assert.ok(REFUSALS.includes((answer.body as SdkErrorBody).code), answer.text)
      }),
      { numRuns: RUNS },
    )
    assert.ok(seen.has(202) && seen.has(400) && seen.has(409) && seen.has(422), [...seen].join())
  })

  test('gets one reply of submit_job', async () => {
    await fc.assert(
      fc.asyncProperty(submission, async (make) => {
        const { error, result } = await client.ask('submit_job', make())
        if (result) return assert.equal((result as SubmitJobResponse).preflight.runnable, true)
        const { code } = error as { code: string }
        assert.ok(REFUSALS.includes(code), code)
      }),
      { numRuns: RUNS },
    )
  })

  test('gets one reply of subscribe_job, get_job_snapshot and request_job_cancellation', async () => {
    const { result } = await client.ask('submit_job', submissionOf(workflows[0]!))
    const { job_id } = result as SubmitJobResponse
    const after_sequence = fc.oneof(fc.nat(20), fc.constantFrom(null, -1, 1.5, 2 ** 53, Number.MAX_SAFE_INTEGER, '1'))
    const data = fc.oneof(
      around('SubscribeJobRequest'),
      around('JobRequest'),
      fc.record({ job_id: fc.constant(job_id), after_sequence }),
      fc.constant({ job_id }),
    )
    const command = fc.constantFrom('subscribe_job', 'get_job_snapshot', 'request_job_cancellation')
    const codes = ['INVALID_REQUEST', 'JOB_NOT_FOUND', 'SEQUENCE_AHEAD']
    await fc.assert(
      fc.asyncProperty(command, data, async (name, of) => {
        const { error } = await client.ask(name, of)
        if (error) assert.ok(codes.includes((error as { code: string }).code), JSON.stringify(error))
      }),
      { numRuns: RUNS },
    )
    await client.settled()
  })

  test('gets one answer of getJobSnapshot and requestJobCancellation', async () => {
    const names = fc.oneof(fc.string({ maxLength: 600 }), fc.string({ unit: 'binary', maxLength: 20 }))
    const ids = names.filter((id) => id !== '' && id.isWellFormed())
    await fc.assert(
      fc.asyncProperty(ids, async (id) => {
        const path = `/api/sdk/v1/jobs/${encodeURIComponent(id).replaceAll('.', '%2E')}`
        for (const [method, end] of [
          ['GET', ''],
          ['POST', '/cancel'],
        ] as const) {
          const { status, text } = await call(server, method, `${path}${end}`)
          assert.ok([400, 404].includes(status), text)
        }
      }),
      { numRuns: RUNS },
    )
  })

  test('leaves a sound database', async () => {
    assert.deepEqual(await faults(server), [])
  })
})
