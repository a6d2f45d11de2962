// The crash run has ten kills in `make test-crash`, two hundred in `make crash`. No acknowledged data is lost, no finished work runs twice,
// and no follower misses an event.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { scaled } from '../helpers/scale.ts'
import { crash } from './harness.ts'

/** As many kills as `make crash` has. More of them find nothing more. */
const MOST_KILLS = 200

/** Paths that ten kills missed by chance are looked for in ten more. A broken path is missed each time. */
const ROUNDS = 4

test('a server that is killed again and again loses, omits and repeats nothing', async (t) => {
  let missed: string[] = []
  for (let round = 0; round === 0 || (round < ROUNDS && missed.length > 0); round++) {
    const seed = process.env.SVC_TEST_SEED ?? randomBytes(4).toString('hex')
    const report = await crash({ kills: Math.min(scaled(10), MOST_KILLS), seed })
    for (const line of report.summary.split('\n')) t.diagnostic(line)
    assert.equal(report.wrong.length, 0, `seed ${seed}\n${report.wrong.slice(0, 50).join('\n')}`)
    missed = report.missed.filter((way) => round === 0 || missed.includes(way))
  }
  assert.deepEqual(missed, [], 'never taken')
})
