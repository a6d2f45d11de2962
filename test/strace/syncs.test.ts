// That an acknowledgement waits for the disk can only be seen from outside: strace counts what the server asks of the system.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { RunResult } from '../../generated/types.ts'
import { call } from '../helpers/http.ts'
import { quiet, skip, traced } from './traced.ts'

const submit = (server: { url: string }) =>
  call<RunResult>(server, 'POST', '/api/workflows/greeting/run', { body: { params: { name: 'x' }, background: true } })

describe('the syncs of a server', { skip }, () => {
  test('one comes between a submission and its acknowledgement, each time', async () => {
    await using server = await traced()
    await submit(server)
    for (let round = 0; round < 10; round++) {
      const before = await quiet(server)
      assert.equal((await submit(server)).status, 202)
      assert.ok(server.syncs() > before, `submission ${round} was acknowledged before a sync`)
    }
  })

  test('fifty submissions at once share them', async () => {
    await using server = await traced({ SVC_MAX_CONCURRENT_JOBS: '100', SVC_MAX_JOBS_PER_USER: '100' })
    await submit(server)
    const before = await quiet(server)
    const answers = await Promise.all(Array.from({ length: 50 }, () => submit(server)))
    assert.ok(answers.every(({ status }) => status === 202))
    const syncs = (await quiet(server)) - before
    assert.ok(syncs >= 1 && syncs <= 25, `50 submissions took ${syncs} syncs`)
  })

  test('with SVC_DURABILITY=normal an acknowledgement waits for none', async () => {
    await using server = await traced({ SVC_DURABILITY: 'normal' })
    await submit(server)
    const before = await quiet(server)
    for (let round = 0; round < 10; round++) await submit(server)
    assert.equal(await quiet(server), before)
  })
})
