// JSON texts with more in them than can be held.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonIn, jsonSteps, MOST_NESTED, MOST_TEXTS } from '../../src/models/json-text.ts'
import { finish as atOnce } from '../../src/time-slices.ts'

test('a text has as many objects and lists as it may, and no more', () => {
  const list = (item: string, count: number) => `[${Array(count).fill(item).join()}]`
  for (const item of ['{}', '[]']) {
    assert.equal((jsonIn(list(item, MOST_NESTED - 1)) as unknown[]).length, MOST_NESTED - 1)
    assert.throws(() => jsonIn(list(item, MOST_NESTED)), { name: 'Malformed' })
  }
  assert.equal((jsonIn(list('1', MOST_NESTED + 1)) as unknown[]).length, MOST_NESTED + 1)
  assert.throws(() => jsonIn('{'), { name: 'SyntaxError' })
})

test('a long text has as many texts as it may, and no more, whatever quotes are in them', () => {
  const list = (count: number) => Buffer.from(`["${'\\"'.repeat(2 * MOST_TEXTS)}"${',""'.repeat(count - 1)}]`)
  assert.equal((atOnce(jsonSteps(list(MOST_TEXTS))) as unknown[]).length, MOST_TEXTS)
  assert.throws(() => atOnce(jsonSteps(list(MOST_TEXTS + 1))), { name: 'Malformed' })
})
