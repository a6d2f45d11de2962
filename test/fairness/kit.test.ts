// The kit itself recognizes a blocked server and an unblocked one.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inSomeRound } from '../helpers/patience.ts'
import { startFair } from './kit.ts'

test('small requests delay no other user, and every answer is measured', async () => {
  await using server = await startFair()
  await inSomeRound(async () => {
    const attack = {
      name: 'a list',
      strike: (attacker: typeof server.attacker) => attacker.expect(200, 'GET', '/health'),
    }
    const { held, answers, strikes } = await server.under([attack], (passed_ms) => passed_ms > 200)
    assert.ok(held < 60, `held for ${held} ms`)
    assert.ok(strikes > 1)
    for (const { worst, middle, count } of Object.values(answers)) assert.ok(count > 0 && middle > 0 && worst >= middle)
  })
})
