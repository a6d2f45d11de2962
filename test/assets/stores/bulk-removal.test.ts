// Tests the removal of objects one by one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { removeEach } from '../../../src/assets/stores/bulk-removal.ts'

test('an object that cannot be removed does not keep the others, and the first error is thrown', async () => {
  const removed: string[] = []
  const remove = async (key: string) => {
    if (key.startsWith('stuck')) throw new Error(key)
    removed.push(key)
    return key !== 'kept'
  }
  await assert.rejects(removeEach(['stuck a', 'b', 'stuck c', 'd'], remove), /stuck a/)
  assert.deepEqual(removed, ['b', 'd'])
  assert.equal(await removeEach(['e', 'kept', 'f'], remove), 2)
})
