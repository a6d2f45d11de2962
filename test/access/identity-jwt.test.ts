// Signed tokens of an identity provider: which are valid, and the user of each.
import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { exportSPKI, importJWK, type JWTHeaderParameters } from 'jose'
import { signingKey, type TokenClaims } from '../helpers/identity-provider.ts'
import { scene, told } from './identity-kit.ts'

const encoded = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')

describe('a signed token', () => {
  for (const alg of ['ES256', 'ES384', 'RS256', 'PS256', 'EdDSA'])
    test(`is valid when it is signed with ${alg}`, async () => {
      await using at = await scene({}, alg)
      assert.equal(told(await at.ask(await at.token({ sub: 'ada' }))), 'user ada')
    })

  test('gives its subject, in the workspace that the provider names', async () => {
    await using at = await scene()
    const of = async (claims: TokenClaims) => at.ask(await at.token(claims))
    const ada = {
      user_id: 'ada',
      workspace_id: null,
      trusted_as: 'identity_provider',
      token_id: null,
      scopes: ['read', 'write', 'admin'],
      administrator: false,
      app_id: null,
      expires_at: at.clock.now + 3_600_000,
    }
    assert.deepEqual(await of({ sub: 'ada' }), { principal: ada })
    assert.deepEqual(await of({ sub: 'ada', workspace_id: 'w' }), { principal: { ...ada, workspace_id: 'w' } })
    assert.deepEqual(await of({ sub: 'root' }), { principal: { ...ada, user_id: 'root', administrator: true } })
    for (const workspace_id of ['', 'w'.repeat(513), 7, null, ['w'], '\ud800'])
      assert.deepEqual(await of({ sub: 'ada', app_metadata: { workspace_id } }), { principal: ada })
    for (const app_metadata of [null, 'w', 7, [], undefined])
      assert.deepEqual(await of({ sub: 'ada', app_metadata }), { principal: ada })
    const workspace_id = 'w'.repeat(512)
    assert.deepEqual(await of({ sub: 'ada', workspace_id }), { principal: { ...ada, workspace_id } })
    // Claims that the user controls do not count.
    assert.deepEqual(await of({ sub: 'ada', user_metadata: { workspace_id: 'w' }, workspace: 'w' }), { principal: ada })
  })

  const claims: [string, TokenClaims, string][] = [
    ['of another audience', { sub: 'ada', aud: 'anon' }, 'Invalid audience'],
    ['without an audience', { sub: 'ada', aud: undefined as never }, 'Invalid audience'],
    ['of several audiences, this one among them', { sub: 'ada', aud: ['else', 'authenticated'] }, 'user ada'],
    ['of another issuer', { sub: 'ada', iss: 'https://idp.example/auth/v1' }, 'Invalid issuer'],
    ['without an issuer', { sub: 'ada', iss: undefined as never }, 'Invalid issuer'],
    ['that has expired', { sub: 'ada', expires_in: -1 }, 'Token expired'],
    ['that expires now', { sub: 'ada', expires_in: 0 }, 'Token expired'],
    ['that is about to expire', { sub: 'ada', expires_in: 1 }, 'user ada'],
    ['that never expires', { sub: 'ada', expires_in: null }, 'Invalid expiry'],
    ['with an expiry in words', { sub: 'ada', exp: 'tomorrow' as never }, 'Invalid expiry'],
    ['without a subject', {}, 'Invalid subject'],
    ['with an empty subject', { sub: '' }, 'Invalid subject'],
    ['with a number as its subject', { sub: 7 as never }, 'Invalid subject'],
    ['with a subject of 512 characters', { sub: 'u'.repeat(512) }, `user ${'u'.repeat(512)}`],
    ['with a subject that is too long', { sub: 'u'.repeat(513) }, 'Invalid subject'],
    ['with half a character as its subject', { sub: '\ud800' }, 'Invalid subject'],
    ['with the id of the local user', { sub: '1' }, 'Invalid subject'],
  ]
  for (const [what, given, expected] of claims)
    test(`${what}: ${expected.slice(0, 30)}`, async () => {
      await using at = await scene()
      assert.equal(told(await at.ask(await at.token(given))), expected)
    })

  test('is valid from its start, with five seconds of tolerance for the clock', async () => {
    await using at = await scene()
    const seconds = at.clock.now / 1000
    for (const claim of ['nbf', 'iat']) {
      assert.equal(told(await at.ask(await at.token({ sub: 'ada', [claim]: seconds + 5 }))), 'user ada')
      const early = await at.token({ sub: 'ada', [claim]: seconds + 6 })
      assert.equal(told(await at.ask(early)), 'Token not yet valid')
      at.clock.now += 1_000
      assert.equal(told(await at.ask(early)), 'user ada', 'the refusal is not remembered')
      at.clock.now -= 1_000
    }
  })

  test('is invalid if it is signed with public data', async () => {
    await using at = await scene({}, 'RS256')
    const { jwk, kid } = at.idp.keys[0]!
    const pem = await exportSPKI((await importJWK(jwk, 'RS256')) as never)
    const good = await at.token({ sub: 'ada' })
    const payload = good.split('.')[1]!
    for (const alg of ['HS256', 'HS384', 'HS512'])
      for (const secret of [
        pem,
        pem.trim(),
        JSON.stringify(jwk),
        String(jwk.n),
        Buffer.from(jwk.n!, 'base64url'),
        '',
      ]) {
        const signed = `${encoded({ alg, kid, typ: 'JWT' })}.${payload}`
        const mac = createHmac(alg.replace('HS', 'sha'), secret).update(signed).digest('base64url')
        assert.equal(told(await at.ask(`${signed}.${mac}`)), 'Invalid token')
      }
    for (const alg of ['none', 'None', 'NONE', '', 'RS1', 'ES256K'])
      for (const signature of ['', good.split('.')[2]!])
        assert.equal(told(await at.ask(`${encoded({ alg, kid })}.${payload}.${signature}`)), 'Invalid token', alg)
    assert.equal(told(await at.ask(good)), 'user ada')
    assert.equal(at.idp.requests.user, 0, 'nothing with three parts is anybody else’s to judge')
  })

  test('is invalid if it brings its own key, or the URL of a key', async () => {
    await using at = await scene()
    const stranger = await signingKey('ES256', at.idp.keys[0]!.kid)
    const elsewhere = `${at.idp.url}/keys`
    const headers: Partial<JWTHeaderParameters>[] = [
      {},
      { jwk: stranger.jwk },
      { jku: elsewhere },
      { x5u: elsewhere },
      { kid: elsewhere },
      { kid: '../keys' },
      { kid: undefined as never },
      { kid: 7 as never },
    ]
    for (const header of headers) {
      const token = await at.idp.token({ sub: 'ada', now: at.clock.now }, header, stranger)
      assert.equal(told(await at.ask(token)), 'Invalid token', JSON.stringify(header))
    }
    assert.equal(at.idp.requests.other, 0)
  })

  test('with a forged signature gets no hint about its claims', async () => {
    await using at = await scene()
    const stranger = await signingKey('ES256', at.idp.keys[0]!.kid)
    for (const claims of [{ sub: 'ada', expires_in: -1 }, { sub: 'ada', aud: 'anon' }, { sub: '' }]) {
      const token = await at.idp.token({ now: at.clock.now, ...claims }, {}, stranger)
      assert.equal(told(await at.ask(token)), 'Invalid token')
    }
  })

  test('is invalid if it has unknown critical headers', async () => {
    await using at = await scene()
    const token = await at.token({ sub: 'ada' })
    const [, payload, signature] = token.split('.')
    const header = encoded({ alg: 'ES256', kid: at.idp.keys[0]!.kid, crit: ['unheard-of'], 'unheard-of': true })
    assert.equal(told(await at.ask(`${header}.${payload}.${signature}`)), 'Invalid token')
  })

  test('is invalid if any part of it was changed', async () => {
    await using at = await scene()
    const token = await at.token({ sub: 'ada' })
    const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    // Only some bits of the last letter of a part count, so that two spellings have the same bytes.
    const ends = [...token].flatMap((letter, at) => (letter === '.' ? [at - 1] : [])).concat(token.length - 1)
    for (let index = 0; index < token.length; index++) {
      if (token[index] === '.' || ends.includes(index)) continue
      const other = letters[(letters.indexOf(token[index]!) + 1) % letters.length]
      const changed = token.slice(0, index) + other + token.slice(index + 1)
      assert.ok('rejected' in (await at.ask(changed)), `letter ${index}`)
    }
    for (const part of ['..', 'a.b.c', `${token.split('.')[0]}..`, `.${token.slice(3)}`])
      assert.equal(told(await at.ask(part)), 'Invalid token', part)
  })

  test('without a key id is valid if there is only one key', async () => {
    await using at = await scene()
    const nameless = () => at.idp.token({ sub: 'ada', now: at.clock.now }, { kid: undefined as never })
    assert.equal(told(await at.ask(await nameless())), 'user ada')
    await at.idp.rotate({ keep: true })
    at.clock.now += 600_000
    assert.equal(told(await at.ask(await nameless())), 'Invalid token')
  })
})
