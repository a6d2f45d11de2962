// The output of `/metrics`: its format, that of Prometheus, and its values.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Counter, Histogram, Metrics } from '../../src/metrics.ts'
import { call } from '../helpers/http.ts'
import { type TestServer, until } from '../helpers/server.ts'
import { jobRow } from '../helpers/store.ts'
import { gated, plain, startGated, submit } from '../jobs/kit.ts'
import { EventClient } from './events-kit.ts'
import { put } from './jobs-kit.ts'

/** The samples by name and labels, as written. */
function samples(text: string): Map<string, number> {
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
  return new Map(
    lines.map((line) => {
      const parts = /^(\w+(?:\{.*\})?) (\S+)$/.exec(line)
      assert.ok(parts, line)
      return [parts[1]!, Number(parts[2])]
    }),
  )
}

async function scraped(server: TestServer): Promise<Map<string, number>> {
  const { status, headers, text } = await call(server, 'GET', '/metrics')
  assert.equal(status, 200)
  assert.match(String(headers['content-type']), /^text\/plain/)
  return samples(text)
}

describe('getMetrics', () => {
  test('getMetrics: reports jobs, queue, followers, run times, commits and requests', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    const none = await scraped(server)
    assert.equal(none.get('svc_jobs{status="running"}'), 0)
    assert.equal(none.get('svc_job_followers'), 0)
    const ended = submit(server, { graph: plain })
    await ended.settled()
    const [running, queued] = [submit(server, { graph: gated }), submit(server, { graph: gated })]
    await Promise.all([running.accepted(), queued.accepted()])
    await using _client = await EventClient.open(server, `/api/jobs/${running.row.id}/events`)
    await put(server, jobRow(900, { status: 'paused', user_id: '2' }))
    await call(server, 'GET', '/api/jobs/missing')
    const now = await until('the follower', async () => {
      const found = await scraped(server)
      return found.get('svc_job_followers') === 1 && found
    })
    for (const [name, value] of Object.entries({
      'svc_jobs{status="running"}': 1,
      'svc_jobs{status="queued"}': 1,
      'svc_jobs{status="suspended"}': 1,
      'svc_queue_jobs{state="running"}': 1,
      'svc_queue_jobs{state="waiting"}': 1,
      'svc_jobs_ended_total{status="completed"}': 1,
      'svc_job_run_seconds_count{status="completed"}': 1,
      'svc_http_requests_total{operation="getJob",status="404"}': 1,
      'svc_http_requests_total{operation="followJobEvents",status="200"}': 1,
    })) {
      assert.equal(now.get(name), value, name)
    }
    assert.ok(now.get('svc_commit_seconds_count')! > 0)
    assert.ok(now.get('svc_commit_units_sum')! >= now.get('svc_commit_units_count')!)
    assert.ok(now.get('svc_database_bytes{part="used"}')! > 1e5)
    for (const part of ['free', 'log']) assert.ok(now.get(`svc_database_bytes{part="${part}"}`)! >= 0)
    assert.ok(now.get('svc_process_resident_memory_bytes')! > 1e6)
    assert.ok(now.has('svc_nodejs_eventloop_lag_seconds'))
  })

  test('getMetrics: each server has its own metrics, and a caller without access to the API cannot read them', async () => {
    await using first = await startGated()
    await using second = await startGated()
    await submit(first, { graph: plain }).settled()
    assert.equal((await scraped(first)).get('svc_jobs_ended_total{status="completed"}'), 1)
    assert.equal((await scraped(second)).get('svc_jobs_ended_total{status="completed"}'), undefined)
    const refused = await call(first, 'GET', '/metrics', { headers: { Origin: 'http://evil.com' } })
    assert.equal(refused.status, 401)
    await call(first, 'HEAD', '/api/jobs', { headers: { Origin: 'http://evil.com' } })
    await call(first, 'GET', '/api/nowhere', { headers: { Origin: 'http://evil.com' } })
    const counted = await scraped(first)
    for (const operation of ['getMetrics', 'listJobs', 'none']) {
      assert.equal(counted.get(`svc_http_requests_total{operation="${operation}",status="401"}`), 1, operation)
    }
  })
})

describe('the text of metrics', () => {
  test('buckets count values up to their bound, and include the buckets before them', async () => {
    const metrics = new Metrics()
    const histogram = metrics.add(new Histogram('test_size', 'Sizes.', [1, 5], 'kind'))
    for (const value of [0, 1, 1.5, 5, 99]) histogram.observe(value, 'a')
    histogram.observe(2, 'b "quoted"\n')
    const found = samples(await metrics.text())
    const bucket = (le: string) => found.get(`test_size_bucket{kind="a",le="${le}"}`)
    assert.deepEqual([bucket('1'), bucket('5'), bucket('+Inf')], [2, 4, 5])
    assert.equal(found.get('test_size_sum{kind="a"}'), 106.5)
    assert.equal(found.get('test_size_count{kind="a"}'), 5)
    assert.equal(found.get('test_size_count{kind="b \\"quoted\\"\\n"}'), 1)
  })

  test('counters only grow, and gauges are read on request', async () => {
    const metrics = new Metrics()
    const counter = metrics.add(new Counter('test_total', 'Things.'))
    let value = 3
    metrics.gauge('test_now', 'Now.', 'of', () => [['x', value]])
    counter.add('a', () => ({ of: 'a' }))
    counter.add('a', () => ({ of: 'never asked' }))
    assert.equal(samples(await metrics.text()).get('test_now{of="x"}'), 3)
    value = 4
    const found = samples(await metrics.text())
    assert.deepEqual([found.get('test_now{of="x"}'), found.get('test_total{of="a"}')], [4, 2])
  })
})
