// JSON texts with more in them than can be held.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { jsonIn, MOST_NESTED } from '../../src/models/json-text.ts'

test('a text has as many objects and lists as it may, and no more', () => {
  const list = (item: string, count: number) => `[${Array(count).fill(item).join()}]`
  for (const item of ['{}', '[]']) {
    assert.equal((jsonIn(list(item, MOST_NESTED - 1)) as unknown[]).length, MOST_NESTED - 1)
    assert.throws(() => jsonIn(list(item, MOST_NESTED)), { name: 'Malformed' })
  }
  assert.equal((jsonIn(list('1', MOST_NESTED + 1)) as unknown[]).length, MOST_NESTED + 1)
  assert.throws(() => jsonIn('{'), { name: 'SyntaxError' })
})
