// JSON texts with too many values.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  MAX_JSON_CONTAINERS,
  MAX_JSON_STRINGS,
  parseBoundedJson,
  parseBoundedJsonSteps,
} from '../../../../src/models/providers/shared/json-parsing.ts'
import { runToCompletion as atOnce } from '../../../../src/shared/time-slices.ts'

test('a text up to the limit of objects and lists is parsed, and a larger one is refused', () => {
  const list = (item: string, count: number) => `[${Array(count).fill(item).join()}]`
  for (const item of ['{}', '[]']) {
    assert.equal((parseBoundedJson(list(item, MAX_JSON_CONTAINERS - 1)) as unknown[]).length, MAX_JSON_CONTAINERS - 1)
    assert.throws(() => parseBoundedJson(list(item, MAX_JSON_CONTAINERS)), { name: 'Malformed' })
  }
  assert.equal((parseBoundedJson(list('1', MAX_JSON_CONTAINERS + 1)) as unknown[]).length, MAX_JSON_CONTAINERS + 1)
  assert.throws(() => parseBoundedJson('{'), { name: 'SyntaxError' })
})

test('a long text up to the limit of strings is parsed, and a larger one is refused, with any quotes in the strings', () => {
  const list = (count: number) => Buffer.from(`["${'\\"'.repeat(2 * MAX_JSON_STRINGS)}"${',""'.repeat(count - 1)}]`)
  assert.equal((atOnce(parseBoundedJsonSteps(list(MAX_JSON_STRINGS))) as unknown[]).length, MAX_JSON_STRINGS)
  assert.throws(() => atOnce(parseBoundedJsonSteps(list(MAX_JSON_STRINGS + 1))), { name: 'Malformed' })
})
