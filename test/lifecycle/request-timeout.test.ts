// Tests the time limit of requests of the lifecycle profile.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { test } from 'node:test'
import type { ServiceError } from '../../src/errors.ts'
import { withRequestTimeout } from '../../src/lifecycle/request-timeout.ts'

const isLate = (error: ServiceError) => error.code === 'SERVICE_UNAVAILABLE'

test('a result in time is returned, and an error in time is thrown', async () => {
  assert.equal(await withRequestTimeout(() => 7), 7)
  assert.equal(await withRequestTimeout(() => Promise.resolve(7)), 7)
  await assert.rejects(
    withRequestTimeout(() => Promise.reject(new Error('own'))),
    /own/,
  )
})

test('a late result is SERVICE_UNAVAILABLE, and its later error is ignored', async () => {
  const late = Promise.withResolvers<number>()
  await assert.rejects(
    withRequestTimeout(() => late.promise, 0.001),
    isLate,
  )
  late.reject(new Error('too late'))
  await assert.rejects(late.promise)
})

test('late work gets an aborted signal, and work in time does not', async () => {
  const signals: AbortSignal[] = []
  const keep = (signal: AbortSignal) => signals.push(signal)
  await withRequestTimeout(async (late) => keep(late), 0.001)
  await assert.rejects(
    withRequestTimeout(async (late) => {
      keep(late)
      await once(late, 'abort')
    }, 0.001),
    isLate,
  )
  assert.deepEqual(
    signals.map(({ aborted }) => aborted),
    [false, true],
  )
})
