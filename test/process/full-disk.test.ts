// A server that starts on a full disk, with jobs under way that an earlier process left.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Health, JobSnapshot, RunResult, Workflow } from '../../generated/types.ts'
import { cannotMount, fill, smallDisk } from '../db/kit.ts'
import { call } from '../helpers/http.ts'
import { serve } from '../helpers/process.ts'
import { until } from '../helpers/server.ts'
import { edge, node } from '../http/kit.ts'

const DISK_BYTES = 6 * 1024 * 1024
const JOBS = 5

/** A job that has begun and takes a moment, so that it is running when its server is killed. */
const SLOW = {
  name: 'Slow',
  graph: {
    nodes: [
      node('name', 'input.String', { name: 'name' }),
      node('wait', 'control.Delay', { seconds: 2 }),
      node('out', 'output.Output', { name: 'out' }),
    ],
    edges: [edge('name.output', 'wait.value'), edge('wait.output', 'out.value')],
  },
}

describe('a server that starts on a full disk with jobs under way', () => {
  test('serves reads, says so in health, and goes on once there is room', { skip: cannotMount }, async () => {
    using disk = smallDisk(DISK_BYTES)
    const ids: string[] = []
    {
      await using first = await serve(disk.path)
      const { id } = (await call<Workflow>(first, 'POST', '/api/workflows', { body: SLOW })).body
      for (let job = 0; job < JOBS; job++) {
        const body = { params: { name: 'Ada' }, background: true }
        const { status, body: run, text } = await call<RunResult>(first, 'POST', `/api/workflows/${id}/run`, { body })
        assert.equal(status, 202, text)
        ids.push(run.job_id)
      }
      await until('the jobs to run', async () => {
        const { body } = await call<JobSnapshot[]>(first, 'GET', '/api/jobs?status=running')
        return body.length === JOBS
      })
      first.kill('SIGKILL')
      await first.ended()
    }
    const filled = fill(disk.path)
    await using second = await serve(disk.path)
    const health = async () => (await call<Health>(second, 'GET', '/health')).body.services.database
    await until('the health', async () => (await health()) === 'full')
    for (const id of ids) {
      const { status, text } = await call<JobSnapshot>(second, 'GET', `/api/jobs/${id}`)
      assert.equal(status, 200, text)
    }
    assert.equal((await call(second, 'GET', '/api/workflows')).status, 200)
    assert.equal((await call<JobSnapshot[]>(second, 'GET', '/api/jobs')).body.length, JOBS)
    filled[Symbol.dispose]()
    await until('the jobs to end', async () => {
      const { body } = await call<JobSnapshot[]>(second, 'GET', '/api/jobs?status=completed')
      return body.length === JOBS
    })
    assert.equal(await health(), 'healthy')
  })
})
