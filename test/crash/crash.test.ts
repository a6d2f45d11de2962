// Ten kills in each run of the tests, two hundred in `make crash`: nothing that was acknowledged is lost, nothing finished runs twice, nobody
// who watches misses anything.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { scaled } from '../helpers/scale.ts'
import { crash } from './harness.ts'

/** As many as `make crash` has: more of them show nothing more. */
const MOST_KILLS = 200

test('a server that is killed again and again loses, leaves out and repeats nothing', async (t) => {
  const seed = process.env.SVC_TEST_SEED ?? randomBytes(4).toString('hex')
  const { wrong, summary } = await crash({ kills: Math.min(scaled(10), MOST_KILLS), seed })
  for (const line of summary.split('\n')) t.diagnostic(line)
  assert.equal(wrong.length, 0, `seed ${seed}\n${wrong.slice(0, 50).join('\n')}`)
})
