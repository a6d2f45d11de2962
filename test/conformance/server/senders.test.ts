// Every operation that changes something is sent by the survey, or it is said why not.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { operationManifest } from '../../../generated/operations.ts'
import { SENDERS, UNSENT } from '../../../src/conformance/server/senders.ts'

const CHANGING = operationManifest
  .filter(({ method, implementation, preview }) => {
    return method !== 'get' && method !== 'head' && (implementation === 'implemented' || preview)
  })
  .map(({ operationId }) => operationId)

test('every operation that changes something has a sender, or a reason to have none', () => {
  const forgotten = CHANGING.filter((id) => !(id in SENDERS) && !(id in UNSENT))
  assert.deepEqual(forgotten, [], 'add it to SENDERS or to UNSENT in src/conformance/server/senders.ts')
  assert.ok(CHANGING.length >= 15)
})

test('no operation has both, and no reason is left over', () => {
  const both = Object.keys(UNSENT).filter((id) => id in SENDERS)
  const unknown = Object.keys(UNSENT).filter((id) => !(CHANGING as string[]).includes(id))
  assert.deepEqual([both, unknown], [[], []])
  for (const reason of Object.values(UNSENT)) assert.ok(reason.length > 10)
})
