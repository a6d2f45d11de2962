// Every operation that changes something is sent by the survey, or it is said why not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationManifest } from '../../../generated/operations.ts'
import { EXCLUDED_OPERATIONS, SURVEY_REQUESTS } from '../../../src/conformance/server/survey-requests.ts'

const CHANGING = operationManifest
  .filter(({ method, implementation, preview }) => {
    return method !== 'get' && method !== 'head' && (implementation === 'implemented' || preview)
  })
  .map(({ operationId }) => operationId)

test('every operation that changes something has a sender, or a reason to have none', () => {
  const forgotten = CHANGING.filter((id) => !(id in SURVEY_REQUESTS) && !(id in EXCLUDED_OPERATIONS))
  assert.deepEqual(forgotten, [], 'add it to SENDERS or to UNSENT in src/conformance/server/survey-requests.ts')
  assert.ok(CHANGING.length >= 15)
})

test('no operation has both, and no reason is left over', () => {
  const both = Object.keys(EXCLUDED_OPERATIONS).filter((id) => id in SURVEY_REQUESTS)
  const unknown = Object.keys(EXCLUDED_OPERATIONS).filter((id) => !(CHANGING as string[]).includes(id))
  assert.deepEqual([both, unknown], [[], []])
  for (const reason of Object.values(EXCLUDED_OPERATIONS)) assert.ok(reason.length > 10)
})
