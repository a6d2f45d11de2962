// What holds for a job by its status, violated rule by rule: every judge refuses it, also those that read documents whose form says less.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { schemaValidators, type Validate } from '../../generated/validators-out.js'
import { createAjv } from '../../src/codegen/documents/ajv-setup.ts'
import { openapiDocument as ofSuite } from '../../src/conformance/server/contract-schemas.ts'
import { restoreExactSchemas } from '../../src/contract/exact-schemas.ts'
import { type JsonMap, mapOf } from '../../src/contract/json.ts'

type Snapshot = Record<string, unknown>

const folder = new URL('../../spec/examples/JobSnapshot/', import.meta.url)
const snapshots = readdirSync(folder).map((name) => JSON.parse(readFileSync(new URL(name, folder), 'utf8')) as Snapshot)
const of = (status: string) => snapshots.find((one) => one.status === status)!
const { result, finished_at } = of('completed')
const { error } = of('failed')
const { waiting } = of('suspended')

/** For each status the members that it fixes, with values of others that it does not have. */
const VIOLATIONS: Readonly<Record<string, Readonly<Record<string, readonly unknown[]>>>> = {
  accepted: { queue_position: [1], finished_at: [finished_at], result: [result], error: [error], waiting: [waiting] },
  queued: {
    queue_position: [null, 0, 1.5, '1'],
    finished_at: [finished_at],
    result: [result],
    error: [error],
    waiting: [waiting],
  },
  running: { queue_position: [1], finished_at: [finished_at], result: [result], error: [error], waiting: [waiting] },
  suspended: { queue_position: [1], finished_at: [finished_at], result: [result], error: [error], waiting: [[]] },
  recovering: { queue_position: [1], finished_at: [finished_at], result: [result], error: [error], waiting: [waiting] },
  cancel_requested: {
    queue_position: [1],
    finished_at: [finished_at],
    result: [result],
    error: [error],
    waiting: [waiting],
  },
  completed: { queue_position: [1], finished_at: [null], result: [null], error: [error], waiting: [waiting] },
  failed: { queue_position: [1], finished_at: [null], result: [result], error: [null], waiting: [waiting] },
  cancelled: { queue_position: [1], finished_at: [null], result: [result], waiting: [waiting] },
}

/** Of every status. */
const COMMON: Readonly<Record<string, readonly unknown[]>> = {
  version: [2, '1', null],
  job_id: ['', null, 7],
  workflow_id: ['', null],
  status: ['unknown', null],
  created_at: ['yesterday', null],
  updated_at: ['yesterday', null],
  last_sequence: [-1, 0.5, null],
  waiting: [null, [{}]],
}

function validatorIn(document: JsonMap): Validate {
  const ajv = createAjv({ strict: false })
  const schemas = mapOf(mapOf(document.components).schemas)
  for (const [name, schema] of Object.entries(schemas)) ajv.addSchema(schema as object, `#/components/schemas/${name}`)
  return ajv.compile({ $ref: '#/components/schemas/JobSnapshot' }) as unknown as Validate
}

function published(name: string): JsonMap {
  return JSON.parse(readFileSync(new URL(`../../generated/${name}`, import.meta.url), 'utf8')) as JsonMap
}

/** The schemas of the profile, each in a file of its own. */
function ofProfile(): Validate {
  const ajv = createAjv({ strict: false })
  const lifecycle = new URL('../../generated/lifecycle-v1/', import.meta.url)
  const files = readdirSync(lifecycle).filter((name) => /^[A-Z][A-Za-z]*\.json$/.test(name))
  for (const name of files) ajv.addSchema(published(`lifecycle-v1/${name}`))
  return ajv.getSchema(String(published('lifecycle-v1/JobSnapshot.json').$id)) as unknown as Validate
}

const JUDGES: Readonly<Record<string, Validate>> = {
  'the generated validators': schemaValidators.JobSnapshot!,
  'the published document, read exactly': validatorIn(restoreExactSchemas(published('openapi.json'))),
  'the published socket document, read exactly': validatorIn(restoreExactSchemas(published('asyncapi.json'))),
  'the documents of the suite for servers': validatorIn(ofSuite as JsonMap),
  'the schemas of the profile': ofProfile(),
}

function refusedBy(value: unknown): string[] {
  return Object.entries(JUDGES).flatMap(([name, judge]) => (judge(value) ? [] : [name]))
}

describe('a snapshot', () => {
  test('of each status is in the examples, and every judge takes it', () => {
    assert.deepEqual(Object.keys(VIOLATIONS).sort(), snapshots.map(({ status }) => status).sort())
    for (const one of snapshots) assert.deepEqual(refusedBy(one), [], String(one.status))
  })

  for (const [status, members] of Object.entries(VIOLATIONS)) {
    const valid = of(status)
    for (const [member, values] of [...Object.entries(members), ...Object.entries(COMMON)])
      for (const value of values)
        test(`that is ${status} and has ${JSON.stringify(value)?.slice(0, 60)} as ${member} is refused`, () => {
          assert.deepEqual(refusedBy({ ...valid, [member]: value }), Object.keys(JUDGES))
        })
    for (const member of Object.keys(valid))
      test(`that is ${status} and lacks ${member} is refused`, () => {
        const { [member]: _, ...rest } = valid
        assert.deepEqual(refusedBy(rest), Object.keys(JUDGES))
      })
  }
})

describe('the last event', () => {
  const base = {
    ...{ sequence: 9, job_id: 'job_01', workflow_id: 'wf_greeting', workspace_id: null },
    ...{ timestamp: '2026-01-15T09:30:00.000Z', type: 'job_terminal' },
  }
  const ends = ['completed', 'failed', 'cancelled']
  for (const status of ends)
    for (const { status: other } of snapshots)
      test(`that is ${status} with a snapshot that is ${other}`, () => {
        const event = { ...base, status, snapshot: of(String(other)) }
        assert.equal(schemaValidators.JobEvent!(event), status === other)
      })
})
