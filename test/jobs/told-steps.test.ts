// The trimmed node statuses of a job with very many nodes are read in steps.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { insertJobEvent } from '../../src/db/jobs/events.ts'
import { trimJobEvents } from '../../src/db/jobs/history-trimming.ts'
import { PublishedHistory } from '../../src/jobs/history/published-history.ts'
import { jobRow, openStore, putJob } from '../helpers/store.ts'

const NODES = 3_000

test('each published node status is found, and a step reads few of them', async () => {
  await using opened = await openStore()
  const { store } = opened
  await store.write((tx) => {
    putJob(tx, jobRow(1))
    for (let sequence = 1; sequence <= NODES; sequence++) {
      const payload = JSON.stringify({ node_id: `n${sequence}`, status: 'running' })
      const created_at = '2026-01-01T00:00:00.000Z'
      insertJobEvent(tx, { job_key: 1, sequence, type: 'node_status', payload, created_at })
    }
    trimJobEvents(tx, 1, NODES + 1, { events: NODES, bytes: 1e9 }, () => true)
  })
  const steps = PublishedHistory.loadSteps(store, 1)
  for (let yielded = 0; ; yielded++) {
    const step = steps.next()
    if (!step.done) continue
    assert.ok(yielded > NODES / 500, `${yielded} steps`)
    for (let at = 1; at <= NODES; at++) assert.ok(step.value.hasNodeStatus(`n${at}`, 'running'))
    assert.equal(step.value.hasNodeStatus('n1', 'completed'), false)
    return
  }
})
