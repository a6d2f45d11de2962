// What a client keeps of one job: whatever comes, in whatever order, the history is in order and each event is there once.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { JobStatus } from '../../../generated/types.ts'
import { JobHistory } from '../../../src/client/jobs/history.ts'
import { historyOf, JOB, snapshot, statusEvent, terminalEvent } from '../kit.ts'

const of = (history: JobHistory) => history.events.map(({ sequence }) => sequence)

describe('a history', () => {
  test('is in order and without repetition, however events come', () => {
    const shuffled = fc
      .integer({ min: 1, max: 30 })
      .chain((count) =>
        fc.tuple(
          fc.constant(count),
          fc.shuffledSubarray(historyOf(count), { minLength: count, maxLength: count }),
          fc.array(fc.integer({ min: 0, max: count - 1 })),
        ),
      )
    fc.assert(
      fc.property(shuffled, ([count, events, again]) => {
        const history = new JobHistory(JOB)
        events.forEach((event, at) => {
          history.addEvent(event)
          for (const one of again) if (one <= at) history.addEvent(events[one])
        })
        assert.deepEqual(
          of(history),
          Array.from({ length: count }, (_, at) => at + 1),
        )
        assert.ok(history.isComplete && !history.hasGap)
        assert.deepEqual(history.missingRanges, [])
      }),
    )
  })

  test('begins after the sequence that is known', () => {
    const history = new JobHistory(JOB, 2)
    for (const event of historyOf(4)) history.addEvent(event)
    assert.deepEqual(of(history), [3, 4])
  })

  test('counts what it does not know and does not hand it on', () => {
    const history = new JobHistory(JOB)
    history.addEvent(statusEvent(1))
    history.addEvent({ ...statusEvent(2), type: 'weather_report' })
    history.addEvent(terminalEvent(3))
    assert.deepEqual(of(history), [1, 3])
    assert.ok(history.isComplete)
  })

  test('ignores what is no event of this job', () => {
    const history = new JobHistory(JOB)
    const junk = [null, 7, 'x', [], {}, { type: 'job_status' }, { ...statusEvent(1), sequence: 1.5 }]
    for (const event of [...junk, { ...statusEvent(1), sequence: 0 }, { ...statusEvent(1), job_id: 'another' }])
      history.addEvent(event)
    history.addEvent({ ...terminalEvent(1), snapshot: null })
    assert.deepEqual([history.last_sequence, history.isBehind, history.terminal], [0, false, null])
  })

  test('takes the state from a snapshot unless later events came', () => {
    const history = new JobHistory(JOB)
    history.addEvent(statusEvent(1, 'queued'))
    history.applySnapshot(snapshot('running', 1))
    assert.equal(history.status, 'running')
    history.addEvent(statusEvent(2, 'suspended'))
    history.applySnapshot(snapshot('running', 1))
    assert.equal(history.status, 'suspended')
  })

  test('keeps the first end that it learns of', () => {
    const history = new JobHistory(JOB)
    history.applySnapshot(snapshot('cancelled', 0))
    for (const status of ['completed', 'running', 'failed'] satisfies JobStatus[])
      history.applySnapshot(snapshot(status, 0))
    history.addEvent(statusEvent(1))
    assert.deepEqual([history.status, history.terminal?.status], ['cancelled', 'cancelled'])
  })

  test('gives up what is missing, and says what it was', () => {
    const history = new JobHistory(JOB)
    for (const sequence of [1, 4, 5, 8]) history.addEvent(statusEvent(sequence))
    assert.ok(history.hasGap && history.isBehind)
    history.skipMissing(snapshot('running', 9))
    assert.deepEqual([of(history), history.missingRanges], [[1, 4, 5], [{ from: 2, to: 3 }]])
    history.skipMissing(snapshot('running', 9))
    history.skipMissing(snapshot('completed', 9))
    assert.deepEqual(of(history), [1, 4, 5, 8])
    assert.deepEqual(history.missingRanges.slice(1), [
      { from: 6, to: 7 },
      { from: 9, to: 9 },
    ])
    assert.ok(history.isComplete)
  })

  test('gives up any number of gaps in a time that grows as their number does', () => {
    const used = (count: number) => {
      const history = new JobHistory(JOB)
      for (let at = 1; at <= count; at++) history.addEvent(statusEvent(at * 2))
      const start = process.cpuUsage()
      history.skipTo(count * 2)
      const { user, system } = process.cpuUsage(start)
      assert.deepEqual(
        [history.events.length, history.missingRanges.length, history.last_sequence],
        [count, count, count * 2],
      )
      return user + system
    }
    const least = (count: number) => Math.min(...Array.from({ length: 5 }, () => used(count)))
    least(1_000)
    // Eight times as much: 64 times as long, if every gap cost as much as there are events.
    const [small, large] = [least(4_000), least(32_000)]
    assert.ok(large < 24 * Math.max(small, 200), `${small} µs and ${large} µs`)
  })
})
