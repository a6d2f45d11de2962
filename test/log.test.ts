// What failures leave in the log: causes where something went wrong, one quiet line where a refusal was meant, no credentials.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../src/errors.ts'
import { type Log, logFailure, logNodeFailure } from '../src/log.ts'

function recording() {
  const lines: [string, Record<string, unknown>][] = []
  const level = (name: string) => (fields: Record<string, unknown>) => lines.push([name, fields])
  return { lines, log: { error: level('error'), warn: level('warn'), info: level('info') } as unknown as Log }
}

test('a failure with a cause is an error, with the cause and the code', () => {
  const { lines, log } = recording()
  const cause = new Error('disk full')
  logFailure(log, new ServiceError('SERVICE_UNAVAILABLE', { cause }), { request_id: 'r1' }, 'failed')
  assert.deepEqual(lines, [['error', { request_id: 'r1', err: cause, code: 'SERVICE_UNAVAILABLE' }]])
})

test('a refusal that was meant is one line without a stack', () => {
  const { lines, log } = recording()
  logFailure(log, new ServiceError('SERVICE_UNAVAILABLE'), { request_id: 'r1' }, 'failed')
  assert.deepEqual(lines, [['info', { request_id: 'r1', code: 'SERVICE_UNAVAILABLE' }]])
})

test('what the client did wrong is not logged', () => {
  const { lines, log } = recording()
  logFailure(log, new ServiceError('INVALID_REQUEST'), {}, 'failed')
  assert.deepEqual(lines, [])
})

test('why a node failed is one short line where the failure was told, and a stack where it was not', () => {
  const { lines, log } = recording()
  const cause = new Error('The name resolved to 10.0.0.1')
  logNodeFailure(log, cause, true, { job_id: 'j' })
  logNodeFailure(log, cause, false, { job_id: 'j' })
  logNodeFailure(log, new Error('x'.repeat(100_000)), true, {})
  logNodeFailure(log, 'odd', true, {})
  assert.deepEqual(lines, [
    ['warn', { job_id: 'j', cause: 'The name resolved to 10.0.0.1' }],
    ['error', { job_id: 'j', err: cause }],
    ['warn', { cause: 'x'.repeat(500) }],
    ['warn', { cause: 'odd' }],
  ])
})
