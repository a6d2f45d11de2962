// Checks the table of states against a table written by hand, for every state and trigger.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { StoredStatus } from '../../src/db/tables/jobs.ts'
import {
  isTerminal,
  type JobTrigger,
  nextStatus,
  toPublicStatus,
  toSocketStatus,
} from '../../src/jobs/state-machine.ts'

const TRIGGERS: JobTrigger[] = [
  'queue',
  'start',
  'suspend',
  'resume',
  'recover',
  'cancel',
  'complete',
  'fail',
  'time_out',
  'settle',
]

// Each row is a state, and the columns are the triggers above. A dash means that the trigger is refused.
const TABLE = `
                   queue   start    suspend  resume   recover           cancel            complete   fail    time_out   settle
  scheduled        queued  running  -        -        -                 cancelled         -          failed  timed_out  -
  pending          queued  running  -        -        -                 cancelled         -          failed  timed_out  -
  queued           -       running  -        -        -                 cancelled         -          failed  timed_out  -
  running          -       -        paused   -        recovering        cancel_requested  completed  failed  timed_out  -
  paused           queued  -        -        running  -                 cancel_requested  -          failed  timed_out  -
  recovering       -       -        paused   running  recovering        cancel_requested  completed  failed  timed_out  -
  cancel_requested -       -        -        -        cancel_requested  -                 completed  failed  timed_out  cancelled
  completed        -       -        -        -        -                 -                 -          -       -          -
  failed           -       -        -        -        -                 -                 -          -       -          -
  error            -       -        -        -        -                 -                 -          -       -          -
  timed_out        -       -        -        -        -                 -                 -          -       -          -
  cancelled        -       -        -        -        -                 -                 -          -       -          -
`

const [header, ...rows] = TABLE.trim()
  .split('\n')
  .map((line) => line.trim().split(/\s+/))

const PUBLIC: Record<StoredStatus, [string, string]> = {
  scheduled: ['accepted', 'queued'],
  pending: ['accepted', 'queued'],
  queued: ['queued', 'queued'],
  running: ['running', 'running'],
  paused: ['suspended', 'suspended'],
  recovering: ['recovering', 'running'],
  cancel_requested: ['cancel_requested', 'running'],
  completed: ['completed', 'completed'],
  failed: ['failed', 'failed'],
  error: ['failed', 'failed'],
  timed_out: ['failed', 'failed'],
  cancelled: ['cancelled', 'cancelled'],
}

describe('states of a job', () => {
  test('the table names every trigger and every state', () => {
    assert.deepEqual(header, TRIGGERS)
    assert.deepEqual(
      rows.map(([state]) => state),
      Object.keys(PUBLIC),
    )
  })

  for (const [state, ...cells] of rows) {
    test(`${state}: every trigger leads where the table says`, () => {
      const found = TRIGGERS.map((trigger) => nextStatus(state as StoredStatus, trigger) ?? '-')
      assert.deepEqual(found, cells)
    })
  }

  test('each stored state has its public name and its name on sockets', () => {
    for (const [state, names] of Object.entries(PUBLIC)) {
      const stored = state as StoredStatus
      assert.deepEqual([toPublicStatus(stored), toSocketStatus(stored)], names)
    }
  })

  test('a state without transitions is terminal', () => {
    const terminal = Object.keys(PUBLIC).filter((state) => isTerminal(state as StoredStatus))
    assert.deepEqual(terminal, ['completed', 'failed', 'error', 'timed_out', 'cancelled'])
  })
})
