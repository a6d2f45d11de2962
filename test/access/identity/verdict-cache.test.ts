// Cached verdicts on tokens: lifetime, number, and which are dropped first.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Scene, scene, told } from '../identity-kit.ts'

async function users(at: Scene, count: number): Promise<string[]> {
  const tokens = await Promise.all(Array.from({ length: count }, (_, n) => at.token({ sub: `user-${n}` })))
  for (const token of tokens) await at.ask(token)
  return tokens
}

const isKnown = (at: Scene) => (token: string) => at.known(token) !== null

describe('a verdict', () => {
  test('is cached for a minute', async () => {
    await using at = await scene()
    for (const token of [await at.token({ sub: 'ada' }), at.idp.opaque({ id: 'ada' })]) {
      assert.equal(at.known(token), null)
      const found = await at.ask(token)
      at.clock.now += 59_999
      assert.equal(at.known(token), found)
      at.clock.now += 1
      assert.equal(at.known(token), null)
    }
  })

  test('ends with its token', async () => {
    await using at = await scene()
    const token = await at.token({ sub: 'ada', expires_in: 30 })
    await at.ask(token)
    at.clock.now += 29_999
    assert.equal(told(at.known(token)!), 'user ada')
    at.clock.now += 1
    assert.equal(told(await at.ask(token)), 'Token expired')
  })

  test('lasts no longer if the clock is set back', async () => {
    await using at = await scene()
    const token = at.idp.opaque({ id: 'ada' })
    await at.ask(token)
    at.clock.now -= 3_600_000
    assert.equal(at.known(token), null)
    at.idp.revoke(token)
    assert.equal(told(await at.ask(token)), 'Invalid token')
  })

  test('on an invalid signed token is not cached, since the token may become valid', async () => {
    await using at = await scene()
    const token = await at.token({ sub: 'ada', expires_in: -1 })
    assert.equal(told(await at.ask(token)), 'Token expired')
    assert.equal(at.known(token), null)
  })

  test('is not cached if the provider was unavailable', async () => {
    await using at = await scene()
    at.idp.down()
    const token = at.idp.opaque({ id: 'ada' })
    assert.equal(told(await at.ask(token)), 'unavailable')
    assert.equal(at.known(token), null)
  })
})

describe('the cached verdicts', () => {
  test('are the two thousand that were used last', async () => {
    await using at = await scene()
    const tokens = await users(at, 2_000)
    assert.ok(tokens.every(isKnown(at)))
    const more = await Promise.all(Array.from({ length: 100 }, (_, n) => at.token({ sub: `late-${n}` })))
    at.known(tokens[0]!)
    for (const token of more) await at.ask(token)
    assert.equal([...tokens, ...more].filter(isKnown(at)).length, 2_000)
    assert.ok(isKnown(at)(tokens[0]!))
    assert.ok(more.every(isKnown(at)))
  })

  test('on valid tokens are not evicted by invented tokens', async () => {
    await using at = await scene({ max_entries: 8 })
    const made_up = Array.from({ length: 20 }, (_, n) => `made-up-${n}`)
    for (const token of made_up) await at.ask(token)
    assert.equal(made_up.filter(isKnown(at)).length, 2, 'a quarter of the room')
    const tokens = await users(at, 8)
    assert.ok(tokens.every(isKnown(at)))
    assert.equal(made_up.filter(isKnown(at)).length, 0)
    for (const token of made_up) await at.ask(token)
    assert.ok(tokens.every(isKnown(at)))
  })
})
