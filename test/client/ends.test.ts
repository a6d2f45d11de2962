// However a client and its jobs end, no promise of the client's own is left unhandled: that would end the process of its user.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'

test('no end of a client or a job is an unhandled rejection', async () => {
  const script = fileURLToPath(new URL('end-states.ts', import.meta.url))
  const { stdout } = await promisify(execFile)(process.execPath, ['--unhandled-rejections=strict', script], {
    timeout: 60_000,
  })
  assert.equal(stdout, `${8 * 6 * 14} ends\n`)
})
