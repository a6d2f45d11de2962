// The judge of damage notices wrong data and silently missing data in the answers of a server on a damaged copy.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { outcomeOf } from './outcome.ts'
import type { RecordAnswer, StoredRecord } from './records.ts'

const record: StoredRecord = { path: '/api/jobs/1', list: false, lasting: () => [] }
const list: StoredRecord = { path: '/api/jobs', list: true, lasting: () => [] }
const due = { status: 200, lasting: ['one', 'two'] }

const judged = (which: StoredRecord, answer: RecordAnswer, damaged: boolean) =>
  outcomeOf(new Map([[which, due]]), new Map([[which, answer]]), damaged).outcome

const error = (type: string, status = 500): RecordAnswer => ({ status, lasting: [JSON.stringify({ error: { type } })] })

describe('a damaged copy', () => {
  test('is harmless where all answers are the same, and health reports nothing', () => {
    assert.equal(judged(record, due, false), 'harmless')
    assert.equal(judged(list, due, false), 'harmless')
  })

  test('is found where an error or health reports the damage', () => {
    assert.equal(judged(record, error('data_damaged'), false), 'found')
    assert.equal(judged(record, error('service_unavailable', 503), true), 'found')
    assert.equal(judged(record, due, true), 'found')
    assert.equal(judged(record, { status: 0, lasting: [] }, true), 'found')
    assert.equal(judged(list, { status: 200, lasting: ['two'] }, true), 'found')
  })

  test('is served wrongly where an answer differs or lacks data', () => {
    for (const damaged of [true, false]) {
      assert.equal(judged(record, { status: 200, lasting: ['one', 'three'] }, damaged), null)
      assert.equal(judged(record, { status: 200, lasting: ['one'] }, damaged), null)
      assert.equal(judged(record, error('not_found', 404), damaged), null)
      assert.equal(judged(list, { status: 200, lasting: ['one', 'three'] }, damaged), null)
    }
    assert.equal(judged(list, { status: 200, lasting: ['two'] }, false), null)
    assert.equal(judged(record, { status: 0, lasting: [] }, false), null)
    assert.equal(judged(record, error('service_unavailable', 503), false), null)
  })
})
