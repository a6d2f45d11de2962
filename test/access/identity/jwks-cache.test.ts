// The keys of the provider: changed, unavailable or malformed keys, which must not cause a wrong acceptance or refusal.
import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { describe, test } from 'node:test'
import { exportJWK } from 'jose'
import { type OddAnswer, signingKey } from '../../helpers/identity-provider.ts'
import { until } from '../../helpers/server.ts'
import { type Scene, scene, told } from '../identity-kit.ts'

const MINUTE = 60_000
const HOUR = 60 * MINUTE

describe('the keys of a provider', () => {
  test('are fetched on demand, once for all waiting requests', async () => {
    await using at = await scene()
    const tokens = await Promise.all(Array.from({ length: 40 }, (_, n) => at.token({ sub: `user-${n}` })))
    assert.equal(at.idp.requests.keys, 0)
    const release = at.idp.hold()
    const asked = tokens.map((token) => at.ask(token))
    await until('the question', () => at.idp.requests.keys > 0)
    release()
    assert.deepEqual(
      (await Promise.all(asked)).map(told),
      tokens.map((_, n) => `user user-${n}`),
    )
    assert.equal(at.idp.requests.keys, 1)
    assert.equal(at.idp.requests.user, 0)
  })

  test('may change at any time: a new key is fetched when a token names it', async () => {
    await using at = await scene()
    assert.equal(told(await at.ask(await at.token({ sub: 'ada' }))), 'user ada')
    await at.idp.rotate()
    assert.equal(told(await at.ask(await at.token({ sub: 'ada' }))), 'user ada')
    at.clock.now += 2_000
    await at.idp.rotate({ alg: 'RS256', keep: true })
    assert.equal(told(await at.ask(await at.token({ sub: 'ada' }))), 'user ada')
    assert.equal(at.idp.requests.keys, 3)
  })

  test('are refreshed before they are old, and no request waits for a slow provider', async () => {
    await using at = await scene()
    await at.ask(await at.token({ sub: 'ada' }))
    at.clock.now += 5 * MINUTE - 1
    await at.ask(await at.token({ sub: 'ada', nonce: 1 }))
    assert.equal(at.idp.requests.keys, 1)
    at.clock.now += 1
    const release = at.idp.hold()
    for (const sub of ['bob', 'carol']) assert.equal(told(await at.ask(await at.token({ sub }))), `user ${sub}`)
    await until('the question', () => at.idp.requests.keys === 2)
    release()
  })

  test('that were withdrawn are valid for at most ten minutes', async () => {
    await using at = await scene()
    const token = await at.token({ sub: 'ada' })
    const [same] = [await at.idp.token({ sub: 'ada', now: at.clock.now, nonce: 1 })]
    assert.equal(told(await at.ask(token)), 'user ada')
    await at.idp.rotate()
    at.clock.now += 10 * MINUTE - 1
    assert.equal(told(await at.ask(token)), 'user ada')
    at.clock.now += 1
    assert.equal(told(await at.ask(same)), 'Invalid token')
  })

  test('are not fetched again and again for invented key ids', async () => {
    await using at = await scene()
    const attack = await stranger(at)
    assert.equal(told(await at.ask(await attack())), 'Invalid token')
    assert.equal(at.idp.requests.keys, 1, 'what came just now is not looked at again')
    const began = at.clock.now
    for (let n = 0; n < 5; n++) {
      const answers = await Promise.all((await Promise.all(Array.from({ length: 30 }, attack))).map(at.ask))
      assert.deepEqual(new Set(answers.map(told)), new Set(['Invalid token']))
      assert.equal(at.idp.requests.keys, 2 + n)
    }
    assert.equal(at.clock.now - began, 4 * 2_000, 'two seconds between two looks')
  })
})

/** Makes tokens with invented key ids. */
async function stranger(at: Scene): Promise<() => Promise<string>> {
  const key = await signingKey()
  let made = 0
  return () => at.idp.token({ sub: 'eve', now: at.clock.now }, { kid: `made-up-${made++}` }, key)
}

/** Asks a second later. On a busy machine the provider may exceed its short timeout, so some seconds more are allowed. */
async function assertKnownAgain(at: Scene, token: () => string | Promise<string>): Promise<void> {
  for (let seconds = 1; ; seconds++) {
    at.clock.now += 1_000
    const verdict = told(await at.ask(await token()))
    if (verdict === 'user ada') return
    assert.ok(seconds < 5, `after ${seconds} s: ${verdict}`)
  }
}

describe('a provider that changes its key', () => {
  test('makes all requests with the new key wait for it, and not only the first', async () => {
    await using at = await scene()
    await at.ask(await at.token({ sub: 'ada' }))
    await at.idp.rotate()
    const release = at.idp.hold()
    const asked = [at.ask(await at.token({ sub: 'ada' }))]
    await until('the question', () => at.idp.requests.keys === 2)
    for (const sub of ['bob', 'carol']) asked.push(at.ask(await at.token({ sub })))
    release()
    assert.deepEqual((await Promise.all(asked)).map(told), ['user ada', 'user bob', 'user carol'])
    assert.equal(at.idp.requests.keys, 2)
  })

  test('and is unreachable gives 503 to all, whichever request came first', async () => {
    await using at = await scene({ timeout_ms: 30 })
    await at.ask(await at.token({ sub: 'ada' }))
    await at.idp.rotate()
    const release = at.idp.hold()
    const asked = await Promise.all(['ada', 'bob', 'carol'].map((sub) => at.token({ sub })))
    assert.deepEqual(new Set((await Promise.all(asked.map(at.ask))).map(told)), new Set(['unavailable']))
    assert.equal(told(await at.ask(await at.token({ sub: 'dan' }))), 'unavailable')
    release()
    await assertKnownAgain(at, () => at.token({ sub: 'ada' }))
  })

  test('is followed while a client keeps inventing key ids, and no other client is refused', async () => {
    const pause = Promise.withResolvers<void>()
    const waits: number[] = []
    const wait = (ms: number) => {
      waits.push(ms)
      return pause.promise
    }
    await using at = await scene({ wait })
    const attack = await stranger(at)
    for (const token of [await at.token({ sub: 'ada' }), await attack()]) await at.ask(token)
    assert.equal(at.idp.requests.keys, 2)
    await at.idp.rotate()
    at.clock.now += 500
    const ada = at.ask(await at.token({ sub: 'ada' }))
    const crowd = await Promise.all(Array.from({ length: 200 }, attack))
    const told_off: string[] = []
    const answers = crowd.map(async (token) => {
      const answer = told(await at.ask(token))
      told_off.push(answer)
      return answer
    })
    await until('those who find no room', () => told_off.length === 200 - 127)
    assert.deepEqual(new Set(told_off), new Set(['unavailable']))
    assert.equal(at.idp.requests.keys, 2, 'nobody asks before the pause has ended')
    pause.resolve()
    assert.equal(told(await ada), 'user ada')
    assert.equal((await Promise.all(answers)).filter((answer) => answer === 'Invalid token').length, 127)
    assert.equal(at.idp.requests.keys, 3)
    assert.deepEqual(waits, [1_500])
    assert.equal(told(await at.ask(await at.token({ sub: 'bob' }))), 'user bob')
  })

  test('after a fetch has begun makes later requests wait for the next fetch', async () => {
    const wait = async () => at.idp.answer('keys', null)
    await using at = await scene({ wait })
    await at.ask(await at.token({ sub: 'ada' }))
    at.idp.answer('keys', { body: JSON.stringify({ keys: at.idp.keys.map(({ jwk }) => jwk) }) })
    const release = at.idp.hold()
    const made_up = at.ask(await (await stranger(at))())
    await until('the question', () => at.idp.requests.keys === 2)
    await at.idp.rotate()
    const ada = at.ask(await at.token({ sub: 'ada' }))
    release()
    assert.deepEqual([told(await made_up), told(await ada)], ['Invalid token', 'user ada'])
    assert.equal(at.idp.requests.keys, 3)
  })

  test('is not waited for by a server that stops', async () => {
    const stopping = new AbortController()
    await using at = await scene({ stopping: stopping.signal })
    const attack = await stranger(at)
    for (const token of [await at.token({ sub: 'ada' }), await attack()]) await at.ask(token)
    const asked = at.ask(await attack())
    stopping.abort()
    assert.equal(told(await asked), 'unavailable')
    assert.equal(at.idp.requests.keys, 2)
  })
})

describe('an unreachable provider', () => {
  test('before the first fetch gives 503 until it is back', async () => {
    await using at = await scene()
    at.idp.down()
    const token = await at.token({ sub: 'ada' })
    assert.equal(told(await at.ask(token)), 'unavailable')
    const asked = at.idp.requests.keys
    for (let n = 0; n < 20; n++) assert.equal(told(await at.ask(token)), 'unavailable')
    assert.equal(at.idp.requests.keys, asked, 'it is given a second')
    at.idp.up()
    at.clock.now += 1_000
    assert.equal(told(await at.ask(token)), 'user ada')
  })

  test('after a fetch leaves its keys valid for a day', async () => {
    await using at = await scene()
    const fresh = () => at.token({ sub: 'ada' })
    assert.equal(told(await at.ask(await fresh())), 'user ada')
    at.idp.down()
    for (const later of [MINUTE, 10 * MINUTE, 12 * HOUR]) {
      at.clock.now += later
      assert.equal(told(await at.ask(await fresh())), 'user ada')
    }
    at.clock.now += 12 * HOUR
    assert.equal(told(await at.ask(await fresh())), 'unavailable')
    at.idp.up()
    at.clock.now += 1_000
    assert.equal(told(await at.ask(await fresh())), 'user ada')
  })

  test('delays no request with a known key', async () => {
    await using at = await scene()
    await at.ask(await at.token({ sub: 'ada' }))
    at.clock.now += 10 * MINUTE
    at.idp.down()
    await at.ask(await at.token({ sub: 'ada' }))
    at.clock.now += 1_000
    at.idp.up()
    const release = at.idp.hold()
    assert.equal(told(await at.ask(await at.token({ sub: 'eve' }))), 'user eve', 'while its keys are asked for')
    release()
    await until('the keys', () => at.lines.some((line) => line.includes('again')))
  })

  test('gives 503 for an unknown key, which may be new', async () => {
    await using at = await scene()
    assert.equal(told(await at.ask(await at.token({ sub: 'ada' }))), 'user ada')
    await at.idp.rotate()
    at.idp.down()
    const token = await at.token({ sub: 'ada' })
    assert.equal(told(await at.ask(token)), 'unavailable')
    assert.equal(told(await at.ask(token)), 'unavailable', 'no more so while it is given a second')
    at.idp.up()
    at.clock.now += 2_000
    assert.equal(told(await at.ask(token)), 'user ada')
  })

  test('gives 503 to a request that waits longer than the timeout', async () => {
    await using at = await scene({ timeout_ms: 30 })
    const release = at.idp.hold()
    const token = await at.token({ sub: 'ada' })
    assert.equal(told(await at.ask(token)), 'unavailable')
    release()
    await assertKnownAgain(at, () => token)
  })

  test('is not waited for by a server that stops', async () => {
    const stopping = new AbortController()
    await using at = await scene({ stopping: stopping.signal })
    const release = at.idp.hold()
    const asked = at.ask(await at.token({ sub: 'ada' }))
    await until('the question', () => at.idp.requests.keys > 0)
    stopping.abort()
    assert.equal(told(await asked), 'unavailable')
    release()
  })

  test('is logged once a minute, and so is its return', async () => {
    await using at = await scene()
    const token = await at.token({ sub: 'ada' })
    at.idp.down()
    for (let n = 0; n < 30; n++) {
      await at.ask(token)
      at.clock.now += 2_000
    }
    at.idp.up()
    await at.ask(token)
    assert.equal(at.lines.length, 2, at.lines.join(''))
    assert.match(at.lines[0]!, /"reason":"\w+".*cannot be fetched from the identity provider/)
    assert.match(at.lines[1]!, /can be fetched from the identity provider again/)
  })
})

describe('a response without a usable set of keys', () => {
  const answers: [string, OddAnswer][] = [
    ['nothing', { body: '' }],
    ['null', { body: 'null' }],
    ['a list', { body: '[]' }],
    ['no keys', { body: '{}' }],
    ['an empty set', { body: '{"keys":[]}' }],
    ['keys that are none', { body: '{"keys":[null,7,"key",{}]}' }],
    ['a shared secret', { body: '{"keys":[{"kty":"oct","k":"c2VjcmV0","alg":"HS256"}]}' }],
    ['a page', { headers: { 'Content-Type': 'text/html' }, body: '<!doctype html>' }],
    ['JSON that breaks off', { body: '{"keys":[{"kty":"EC"' }],
    ['an error', { status: 500, body: '{"keys":[]}' }],
    ['not found', { status: 404, body: '{}' }],
    ['refused', { status: 401, body: '{}' }],
    ['no content', { status: 204 }],
    ['too much', { body: `{"keys":[],"x":"${'x'.repeat(65_536)}"}` }],
    ['a broken encoding', { headers: { 'Content-Encoding': 'gzip' }, body: 'not gzip' }],
  ]
  for (const [what, answer] of answers)
    test(`${what}: gives 503`, async () => {
      await using at = await scene()
      const token = await at.token({ sub: 'ada' })
      at.idp.answer('keys', answer)
      assert.equal(told(await at.ask(token)), 'unavailable')
      at.idp.answer('keys', null)
      at.clock.now += 1_000
      assert.equal(told(await at.ask(token)), 'user ada')
    })

  test('a redirect: is not followed', async () => {
    await using at = await scene()
    at.idp.answer('keys', { status: 302, headers: { Location: `${at.idp.url}/elsewhere` } })
    assert.equal(told(await at.ask(await at.token({ sub: 'ada' }))), 'unavailable')
    assert.equal(at.idp.requests.other, 0)
  })

  test('a broken or a private key under the right id: gives 503', async () => {
    await using at = await scene()
    const token = await at.token({ sub: 'ada' })
    const { jwk, private_key } = at.idp.keys[0]!
    for (const bad of [
      { ...jwk, x: 'AA' },
      { ...jwk, ...(await exportJWK(private_key)) },
    ]) {
      at.idp.answer('keys', { body: JSON.stringify({ keys: [bad] }) })
      at.clock.now += 10 * MINUTE
      assert.equal(told(await at.ask(await at.token({ sub: 'ada' }))), 'unavailable')
    }
    at.idp.answer('keys', null)
    at.clock.now += 10 * MINUTE
    assert.equal(told(await at.ask(token)), 'user ada')
  })

  test('weak and broken keys beside a good one: are ignored, which is logged once', async () => {
    await using at = await scene()
    const { jwk } = at.idp.keys[0]!
    const weak = {
      ...generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey.export({ format: 'jwk' }),
      kid: 'weak',
    }
    const empty = { kty: 'RSA', kid: 'empty', n: '', e: '' }
    at.idp.answer('keys', { body: JSON.stringify({ keys: [weak, empty, { kty: 'oct', k: 'c2VjcmV0' }, jwk] }) })
    for (let round = 0; round < 2; round++) {
      const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: round ? 'weak' : 'empty' })).toString('base64url')
      assert.equal(told(await at.ask(`${header}.e30.AAAA`)), 'Invalid token')
      assert.equal(told(await at.ask(await at.token({ sub: 'ada' }))), 'user ada')
      at.clock.now += 10 * MINUTE
    }
    assert.equal(at.lines.length, 1, at.lines.join(''))
    assert.match(at.lines[0]!, /"left_out":2.*weak, broken or private/)
  })

  test('only weak keys: gives 503', async () => {
    await using at = await scene()
    const { publicKey } = generateKeyPairSync('rsa', { modulusLength: 2047 })
    const weak = { ...publicKey.export({ format: 'jwk' }), kid: 'weak' }
    at.idp.answer('keys', { body: JSON.stringify({ keys: [weak] }) })
    const header = Buffer.from(JSON.stringify({ alg: 'RS256', kid: 'weak' })).toString('base64url')
    assert.equal(told(await at.ask(`${header}.e30.AAAA`)), 'unavailable')
  })

  test('a broken key beside a good one: does no harm', async () => {
    await using at = await scene()
    const { jwk } = at.idp.keys[0]!
    at.idp.answer('keys', { body: JSON.stringify({ keys: [{ kty: 'EC', kid: 'broken' }, null, jwk] }) })
    assert.equal(told(await at.ask(await at.token({ sub: 'ada' }))), 'user ada')
  })
})
