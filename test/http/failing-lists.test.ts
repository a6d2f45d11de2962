// A list whose first rows cannot be read gives an error response, since nothing of it was sent yet.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ServiceError } from '../../src/errors.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'

test('a list of jobs gives an error response if the first job cannot be read', async (t) => {
  await using server = await startServer()
  await call(server, 'POST', '/api/workflows/greeting/run', { body: { params: { name: 'Ada' } } })
  const { store } = server.context
  const read = store.read.bind(store)
  let reads = 0
  // The ids of the jobs are read first, and then each job.
  t.mock.method(store, 'read', (unit: Parameters<typeof read>[0]) => {
    if (++reads === 2) throw new ServiceError('DATA_DAMAGED')
    return read(unit)
  })
  const { status, text } = await call(server, 'GET', '/api/jobs')
  assert.deepEqual([status, text.includes('data_damaged')], [500, true], text)
  assert.equal(reads, 2)
})
