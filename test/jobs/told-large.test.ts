// A published history is read in steps, however large the other events are.
import assert from 'node:assert/strict'
import { dirname } from 'node:path'
import { test } from 'node:test'
import { insertJobEvent } from '../../src/db/jobs/events.ts'
import { PublishedHistory } from '../../src/jobs/history/published-history.ts'
import { TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import { emptyLog, longestTurn } from '../helpers/loop.ts'
import { atRealSize } from '../helpers/scale.ts'
import { openStore } from '../helpers/store.ts'

const EVENTS = 100
const SIZE = 4_000_000
/** Milliseconds, far less than reading all events takes. */
const LONGEST_TURN = 75

test('the node statuses in a history of large outputs are read in steps', { skip: atRealSize }, async () => {
  await using opened = await openStore()
  const { store } = opened
  const put = (sequence: number, type: string, payload: object) =>
    store.write((tx) =>
      insertJobEvent(tx, { job_key: 1, sequence, type, payload: JSON.stringify(payload), created_at: '2026' }),
    )
  await put(1, 'node_status', { node_id: 'first', status: 'running' })
  for (let at = 2; at <= EVENTS; at++) await put(at, 'output_update', { output_name: 'o', value: 'x'.repeat(SIZE) })
  await put(EVENTS + 1, 'node_status', { node_id: 'last', status: 'completed' })
  emptyLog({ data_dir: dirname(opened.path) })
  let told = PublishedHistory.createEmpty()
  const held = await longestTurn(async () => {
    told = await new TimeSliceScheduler().run('user', PublishedHistory.loadSteps(store, 1))
  })
  assert.ok(held < LONGEST_TURN, `held for ${Math.round(held)} ms`)
  assert.ok(told.hasNodeStatus('first', 'running') && told.hasNodeStatus('last', 'completed'))
  let outputs = 0
  while (told.takeOutput('o')) outputs++
  assert.equal(outputs, EVENTS - 1)
})
