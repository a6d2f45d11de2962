// A job with very many recorded firings is retried many times at once by a server with little memory.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { JobSnapshot, RunResult, Workflow } from '../../generated/types.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { call, type ErrorBody } from '../helpers/http.ts'
import { serve } from '../helpers/process.ts'
import { until } from '../helpers/server.ts'

/** The memory of twenty retries at once would exceed the heap. */
const FIRINGS = 30_000
const HEAP = { NODE_OPTIONS: '--max-old-space-size=140' }
const RETRIES = 20

const workflow = {
  name: 'Many',
  graph: graph(
    [
      node('numbers', 'control.Numbers', { from: 1, to: FIRINGS }),
      node('now', 'date.Now'),
      node('count', 'control.Count'),
      node('fail', 'control.Fail', { condition: true, message: 'It fails.' }),
      sink('out'),
    ],
    [
      { source: 'numbers', sourceHandle: 'item', target: 'now', targetHandle: '', edge_type: 'control' },
      'now.output->count.item',
      'count.count->fail.value',
      'fail.output->out.value',
    ],
  ),
}

test(
  'many retries at once of a job with very many firings do not end the process',
  inFolder(async (data_dir) => {
    await using server = await serve(data_dir, HEAP)
    const failure = async (job_id: string) =>
      until('its end', async () => {
        const { status, error } = (await call<JobSnapshot>(server, 'GET', `/api/jobs/${job_id}`)).body
        return status === 'failed' && error!.message
      })
    const { id } = (await call<Workflow>(server, 'POST', '/api/workflows', { body: workflow })).body
    const { job_id } = (await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: {} })).body
    assert.equal(await failure(job_id), 'It fails.')
    const retry = () => call<JobSnapshot & ErrorBody>(server, 'POST', `/api/jobs/${job_id}/retry`)
    const answers = await Promise.all(Array.from({ length: RETRIES }, retry))
    const taken = answers.filter(({ status }) => status === 202)
    for (const { status, body, headers } of answers.filter((answer) => !taken.includes(answer)))
      assert.deepEqual(
        [status, body.error.type, headers['retry-after'] === undefined],
        [503, 'service_unavailable', false],
      )
    assert.ok(taken.length > 0)
    for (const { body } of taken) assert.equal(await failure(body.job_id), 'It fails.')
    assert.equal((await retry()).status, 202)
  }),
)
