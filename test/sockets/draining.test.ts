// The shutdown of a server: no new sockets or jobs, time for running jobs, and then 1012.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import WebSocket from 'ws'
import { until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { gated, greeting, newId, startBench } from './kit.ts'

function refusedWith(url: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const ws = new WebSocket(`${url.replace('http', 'ws')}/ws`)
    ws.once('open', () => reject(new Error('the upgrade was accepted')))
    ws.once('error', () => {})
    ws.once('unexpected-response', (_request, response) => resolve(response.statusCode))
  })
}

test('a draining server refuses upgrades and jobs, waits for running jobs, and closes with 1012', async () => {
  await using bench = await startBench()
  await using client = await connect(bench.server)
  const [job_id, late] = [newId(), newId()]
  client.command('run_job', { job_id, graph: gated(job_id) })
  await bench.gates.at(job_id)
  const closing = bench.server.close(30_000)
  await until('the drain', () => bench.server.context.runs.jobs.draining)
  assert.equal(await refusedWith(bench.server.url), 503)
  client.command('run_job', { job_id: late, graph: greeting })
  assert.equal((await client.collect(late)).at(-1)?.status, 'failed')
  await bench.gates.open(job_id)
  assert.equal((await client.collect(job_id)).at(-1)?.status, 'completed')
  assert.equal((await client.closed()).code, 1012)
  await closing
})

test('a job that does not end in time is left for the next process, and its followers get no end', async () => {
  await using bench = await startBench()
  await using client = await connect(bench.server)
  const job_id = newId()
  client.command('run_job', { job_id, graph: gated(job_id) })
  await bench.gates.at(job_id)
  await bench.server.close(20)
  assert.equal((await client.closed()).code, 1012)
  assert.deepEqual(
    client.of(job_id).flatMap((frame) => (frame.type === 'job_update' ? [frame.status] : [])),
    ['running'],
  )
})

test('a client that does not answer the close does not delay the shutdown', async () => {
  await using bench = await startBench({ socket_times: { close_timeout_ms: 50 } })
  const silent = new WebSocket(`${bench.server.url.replace('http', 'ws')}/ws`)
  await new Promise((resolve) => silent.once('open', resolve))
  silent.pause()
  await bench.server.close(0)
  silent.resume()
  await until('the end of the socket', () => silent.readyState === WebSocket.CLOSED)
})
