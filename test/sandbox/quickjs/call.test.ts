// The engine of the sandbox is read from disk on first use: a read error fails only that call.
import assert from 'node:assert/strict'
import files from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'
import { mock, test } from 'node:test'
import { createCodeSandbox } from '../../../src/sandbox/code-sandbox.ts'
import { call } from '../kit.ts'

test('a call succeeds after one for which the engine could not be read', async () => {
  await using sandbox = createCodeSandbox({ workers: 1 })
  const read = mock.method(files, 'readFile', () => Promise.reject(new Error('The disk is not there.')), { times: 1 })
  syncBuiltinESMExports()
  try {
    await assert.rejects(call(sandbox, 'return { n: 1 }'), /The disk is not there/)
  } finally {
    read.mock.restore()
    syncBuiltinESMExports()
  }
  assert.equal(read.mock.callCount(), 1)
  assert.deepEqual(await call(sandbox, 'return { n: 2 }'), { n: 2 })
})
