// Opaque tokens, which only the provider can read: the lookups, and the use of their answers.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { OddAnswer } from '../helpers/identity-provider.ts'
import { until } from '../helpers/server.ts'
import { scene, told } from './identity-kit.ts'

describe('an opaque token', () => {
  test('gives the user that the provider names', async () => {
    await using at = await scene()
    const bob = {
      user_id: 'bob',
      workspace_id: null,
      trusted_as: 'identity_provider',
      token_id: null,
      scopes: ['read', 'write', 'admin'],
      administrator: false,
      app_id: null,
      expires_at: null,
    }
    assert.deepEqual(await at.ask(at.idp.opaque({ id: 'bob' })), { principal: bob })
    const inside = await at.ask(at.idp.opaque({ id: 'bob', workspace_id: 'w' }))
    assert.deepEqual(inside, { principal: { ...bob, workspace_id: 'w' } })
    const root = await at.ask(at.idp.opaque({ id: 'root' }))
    assert.deepEqual(root, { principal: { ...bob, user_id: 'root', administrator: true } })
    assert.deepEqual(at.idp.requests, { keys: 0, user: 3, other: 0 })
  })

  test('that the provider does not know is refused, and not looked up again at once', async () => {
    await using at = await scene()
    for (let n = 0; n < 20; n++) assert.equal(told(await at.ask('nobody')), 'Invalid token')
    assert.equal(at.idp.requests.user, 1)
    at.clock.now += 10_000
    at.idp.opaque({ id: 'bob' }, 'nobody')
    assert.equal(told(await at.ask('nobody')), 'user bob')
    assert.equal(told(at.known('nobody')!), 'user bob')
  })

  test('that is revoked ends within a minute', async () => {
    await using at = await scene()
    const token = at.idp.opaque({ id: 'bob' })
    assert.equal(told(await at.ask(token)), 'user bob')
    at.idp.revoke(token)
    at.clock.now += 59_999
    assert.equal(told(await at.ask(token)), 'user bob')
    at.clock.now += 1
    assert.equal(told(await at.ask(token)), 'Invalid token')
    assert.equal(told(at.known(token)!), 'Invalid token')
  })

  test('is looked up once for all concurrent requests', async () => {
    await using at = await scene()
    const token = at.idp.opaque({ id: 'bob' })
    const release = at.idp.hold()
    const asked = Array.from({ length: 100 }, () => at.ask(token))
    await until('the question', () => at.idp.requests.user > 0)
    asked.push(at.ask(token))
    release()
    for (const found of await Promise.all(asked)) assert.equal(told(found), 'user bob')
    assert.equal(at.idp.requests.user, 1)
  })

  test('is looked up once for all concurrent rechecks, of open uploads for example', async () => {
    await using at = await scene()
    const token = at.idp.opaque({ id: 'bob' })
    const release = at.idp.hold()
    const rechecks = Array.from({ length: 100 }, () => at.recheckFrom('198.51.100.0', token))
    await until('the question', () => at.idp.requests.user > 0)
    rechecks.push(at.recheckFrom('198.51.100.0', token), at.ask(token))
    release()
    for (const found of await Promise.all(rechecks)) assert.equal(told(found), 'user bob')
    assert.equal(at.idp.requests.user, 1)
  })

  test('of an open socket is looked up though a request with it is refused by the limit at this moment', async () => {
    await using at = await scene()
    const release = at.idp.hold()
    const flood = Array.from({ length: 16 }, (_, n) => at.askFrom('198.51.100.0', `made-up-${n}`))
    const recheck = at.recheckFrom('198.51.100.0', 'revoked')
    assert.equal(told(await at.askFrom('198.51.100.0', 'revoked')), 'unavailable')
    await until('the questions', () => at.idp.requests.user === 17)
    release()
    assert.equal(told(await recheck), 'Invalid token')
    await Promise.all(flood)
  })

  test('is refused while 128 others wait', async () => {
    await using at = await scene()
    const tokens = Array.from({ length: 200 }, (_, n) => at.idp.opaque({ id: `user-${n}` }))
    const release = at.idp.hold()
    const asked = tokens.map((token) => at.ask(token))
    const above = await Promise.all(asked.slice(128))
    assert.deepEqual(new Set(above.map(told)), new Set(['unavailable']), 'at once, while no answer has come')
    await until('the questions', () => at.idp.requests.user === 128)
    release()
    const below = await Promise.all(asked.slice(0, 128))
    assert.deepEqual(
      below.map(told),
      tokens.slice(0, 128).map((_, n) => `user user-${n}`),
    )
    assert.equal(at.idp.most_at_once, 128)
    assert.equal(told(await at.ask(tokens[199]!)), 'user user-199')
  })

  test('is refused while 16 others of its address wait, but not tokens of other addresses', async () => {
    await using at = await scene()
    const release = at.idp.hold()
    const flood = Array.from({ length: 40 }, (_, n) => at.askFrom(`2001:db8:1:2::${n}`, `made-up-${n}`))
    assert.deepEqual(new Set((await Promise.all(flood.slice(16))).map(told)), new Set(['unavailable']))
    const token = at.idp.opaque({ id: 'bob' })
    const bob = at.askFrom('198.51.100.7', token)
    await until('the questions', () => at.idp.requests.user === 17)
    release()
    assert.equal(told(await bob), 'user bob')
    assert.deepEqual(new Set((await Promise.all(flood.slice(0, 16))).map(told)), new Set(['Invalid token']))
    for (let n = 0; n < 20; n++)
      assert.equal(told(await at.askFrom('2001:db8:1:2::1', `another-${n}`)), 'Invalid token')
  })

  test('of an open socket is checked again while lookups of its address, or of all addresses, are at their limit', async () => {
    await using at = await scene()
    const revoked = Array.from({ length: 100 }, (_, n) => at.idp.opaque({ id: `user-${n}` }))
    for (const token of revoked) at.idp.revoke(token)
    const release = at.idp.hold()
    const flood = Array.from({ length: 8 * 16 }, (_, n) => at.askFrom(`198.51.100.${n % 8}`, `made-up-${n}`))
    const rechecks = revoked.map((token) => at.recheckFrom('198.51.100.0', token))
    await until('the questions', () => at.idp.requests.user === 128 + 64)
    assert.equal(told(await at.askFrom('198.51.100.9', 'one-more')), 'unavailable')
    release()
    assert.deepEqual(new Set((await Promise.all(rechecks)).map(told)), new Set(['Invalid token']))
    await Promise.all(flood)
    assert.equal(at.idp.most_at_once, 128 + 64)
  })

  test('is looked up for a request at once, though its recheck waits for a place', async () => {
    await using at = await scene()
    const tokens = Array.from({ length: 65 }, (_, n) => at.idp.opaque({ id: `user-${n}` }))
    const release = at.idp.hold()
    const rechecks = tokens.map((token) => at.recheckFrom('198.51.100.0', token))
    await until('the questions', () => at.idp.requests.user === 64)
    const request = at.askFrom('198.51.100.0', tokens[64]!)
    await until('the question of the request', () => at.idp.requests.user === 65)
    release()
    assert.equal(told(await request), 'user user-64')
    assert.deepEqual(
      (await Promise.all(rechecks)).map(told),
      tokens.map((_, n) => `user user-${n}`),
    )
  })

  test('is refused if the server’s own key is wrong, which is logged once', async () => {
    await using at = await scene()
    const refuse = async (count: number) => {
      for (let n = 0; n < count; n++) assert.equal(told(await at.ask(crypto.randomUUID())), 'Invalid token')
    }
    await refuse(9)
    assert.deepEqual(at.lines, [])
    await refuse(30)
    assert.equal(at.lines.length, 1)
    assert.match(at.lines[0]!, /refused 10 tokens in a row.*IDP_KEY/)
    assert.equal(told(await at.ask(at.idp.opaque({ id: 'bob' }))), 'user bob')
    await refuse(9)
    await at.ask(at.idp.opaque({ id: 'bob' }))
    await refuse(9)
    assert.equal(at.lines.length, 1, 'the key is good')
  })

  test('is unavailable while the provider is down or slow', async () => {
    await using at = await scene({ timeout_ms: 30 })
    const token = at.idp.opaque({ id: 'bob' })
    at.idp.down()
    assert.equal(told(await at.ask(token)), 'unavailable')
    at.idp.up()
    const release = at.idp.hold()
    assert.equal(told(await at.ask(token)), 'unavailable')
    release()
    assert.equal(told(await at.ask(token)), 'user bob', 'at once: that nobody could tell is not remembered')
  })
})

describe('an answer about a user', () => {
  const page = '<!doctype html>'
  const answers: [string, OddAnswer, string][] = [
    ['401', { status: 401, body: page }, 'Invalid token'],
    ['403', { status: 403, body: page }, 'Invalid token'],
    ['404 in JSON, as of a user who was deleted', { status: 404, body: '{"msg":"User not found"}' }, 'Invalid token'],
    ['404 that names a user', { status: 404, body: '{"id":"bob"}' }, 'Invalid token'],
    ['404 as a page', { status: 404, body: page }, 'unavailable'],
    ['404 with nothing', { status: 404, body: '' }, 'unavailable'],
    ['404 with a text', { status: 404, body: '"not found"' }, 'unavailable'],
    ['404 with more than is read', { status: 404, body: '{}'.padEnd(65_537) }, 'unavailable'],
    ['429', { status: 429, body: '{"id":"bob"}' }, 'unavailable'],
    ['500', { status: 500, body: '{"id":"bob"}' }, 'unavailable'],
    ['201', { status: 201, body: '{"id":"bob"}' }, 'unavailable'],
    ['a page', { headers: { 'Content-Type': 'text/html' }, body: page }, 'unavailable'],
    ['nothing', { body: '' }, 'unavailable'],
    ['null', { body: 'null' }, 'unavailable'],
    ['a text', { body: '"bob"' }, 'unavailable'],
    ['no id', { body: '{"sub":"bob"}' }, 'unavailable'],
    ['a number for an id', { body: '{"id":7}' }, 'unavailable'],
    ['an inherited id', { body: '{"__proto__":{"id":"bob"}}' }, 'unavailable'],
    ['an empty id', { body: '{"id":""}' }, 'Invalid subject'],
    ['the id of the local user', { body: '{"id":"1"}' }, 'Invalid subject'],
    ['an id that is too long', { body: JSON.stringify({ id: 'u'.repeat(513) }) }, 'Invalid subject'],
    ['as much as is read', { body: '{"id":"bob"}'.padEnd(65_536) }, 'user bob'],
    ['more than is read', { body: '{"id":"bob"}'.padEnd(65_537) }, 'unavailable'],
    ['a broken encoding', { headers: { 'Content-Encoding': 'br' }, body: page }, 'unavailable'],
  ]
  for (const [what, answer, expected] of answers)
    test(`${what}: ${expected}`, async () => {
      await using at = await scene()
      at.idp.answer('user', answer)
      assert.equal(told(await at.ask('token')), expected)
    })

  test('that is a redirect is not followed, with the token or the key', async () => {
    await using at = await scene()
    for (const status of [301, 302, 303, 307, 308]) {
      at.idp.answer('user', { status, headers: { Location: `${at.idp.url}/elsewhere` }, body: '{"id":"bob"}' })
      assert.equal(told(await at.ask('token')), 'unavailable')
    }
    assert.equal(at.idp.requests.other, 0)
  })

  test('that is cut off: unavailable', async () => {
    await using at = await scene({ timeout_ms: 30 })
    at.idp.answer('user', { headers: { 'Content-Length': '100' }, body: '{"id":"bob"}' })
    assert.equal(told(await at.ask('token')), 'unavailable')
  })

  test('is not quoted in the log, and neither is the request', async () => {
    await using at = await scene()
    for (const body of ['{"id": 7, "email": "bob@example.test"}', 'x'.repeat(70_000), '{"id"']) {
      at.idp.answer('user', { body })
      await at.ask('a-very-secret-token')
      at.clock.now += 60_000
    }
    at.idp.down()
    await at.ask('a-very-secret-token')
    assert.equal(at.lines.length, 4, at.lines.join(''))
    for (const line of at.lines) {
      for (const secret of ['a-very-secret-token', at.idp.key, 'bob@', 'xxxx']) assert.ok(!line.includes(secret), line)
    }
  })
})
