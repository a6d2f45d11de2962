// Access tokens over a real store: verification, its cost, stored data, and the right to mint.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { describe, test } from 'node:test'
import { AUTH_UNAVAILABLE } from '../../../src/access/auth-verdict.ts'
import { createAuthenticator } from '../../../src/access/authenticator.ts'
import { LOCAL_PRINCIPAL, type Principal } from '../../../src/access/principal.ts'
import { ServiceError } from '../../../src/errors.ts'
import { createLog } from '../../../src/log.ts'
import { Redactor } from '../../../src/redaction/redactor.ts'
import { damagePage, rootPage, watchConnections } from '../../db/kit.ts'
import { processorMs } from '../../helpers/processor.ts'
import { openStore } from '../../helpers/store.ts'
import { FACTS, SETTINGS } from '../kit.ts'
import { ADA, clock, damaged, HOUR_MS, LOCAL_MODE, START, tokensOver, WITH_PROVIDER } from '../token-kit.ts'

const refused = (code: string) => (error: unknown) => error instanceof ServiceError && error.code === code

describe('a verified token', () => {
  test('has its owner, workspace and scopes, and no further right of the owner', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store, { settings: WITH_PROVIDER })
    const { id, token } = await access.mint(ADA, { name: 'agent' })
    assert.deepEqual(await access.verify(token, START), {
      user_id: 'ada',
      workspace_id: 'red',
      trusted_as: 'access_token',
      token_id: id,
      scopes: ['read', 'write'],
      administrator: false,
      app_id: null,
      expires_at: null,
    })
  })

  test('ends at its exact millisecond', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store)
    const expires_at = new Date(START + HOUR_MS).toISOString()
    const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'short', expires_at })
    assert.equal((await access.verify(token, START + HOUR_MS - 1))?.expires_at, START + HOUR_MS)
    assert.equal(await access.verify(token, START + HOUR_MS), null)
    assert.deepEqual(
      [access.hasExpired(token, START + HOUR_MS - 1), access.hasExpired(token, START + HOUR_MS)],
      [false, true],
    )
    assert.equal(access.hasExpired(`${token.slice(0, -43)}${'A'.repeat(43)}`, START + HOUR_MS), false)
  })

  test('is invalid if one character is changed, even the last one', async () => {
    await using opened = await openStore()
    const { checks, access } = tokensOver(opened.store)
    const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
    for (let i = 0; i < 200; i++) {
      const other = damaged(token)
      assert.equal(await checks.accessToken(other, START), null, other)
    }
    // The last of 43 characters has two bits that base64url does not use.
    for (const last of 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_') {
      const other = token.slice(0, -1) + last
      assert.equal((await access.verify(other, START)) !== null, other === token, last)
    }
    for (const other of ['', 'ntk_', `${token} `, `${token}=`, token.toUpperCase(), `ntk_${token}`, token.slice(4)])
      assert.equal(await access.verify(other, START), null, other)
  })

  test('is refused with the secret of another one', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store)
    const [one, other] = [await access.mint(ADA, { name: 'a' }), await access.mint(ADA, { name: 'b' })]
    assert.equal(await access.verify(one.token.slice(0, -43) + other.token.slice(-43), START), null)
  })

  test('is read from the database once, and an unknown token each time', async () => {
    await using opened = await openStore()
    const { store } = opened
    const { access } = tokensOver(store)
    const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
    const statements = async (run: () => unknown) => {
      const before = store.statements
      await run()
      return store.statements - before
    }
    assert.equal(await statements(() => access.verify(token, START)), 1)
    assert.equal(await statements(() => access.verify(token, START)), 0)
    assert.equal(
      await statements(() => access.verify(`${token.slice(0, -43)}${'A'.repeat(43)}`, START)),
      0,
      'a wrong secret',
    )
    const unknown = `ntk_${'0'.repeat(32)}_${'A'.repeat(43)}`
    for (let i = 0; i < 3; i++) assert.equal(await statements(() => access.verify(unknown, START)), 1)
    assert.equal(await statements(() => access.verify('ntk_none', START)), 0)
    await access[Symbol.asyncDispose]()
  })

  test('costs at most 60 µs', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store)
    const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
    assert.notEqual(await access.verify(token, START), null)
    const rounds = 5_000
    const round = () => {
      for (let i = 0; i < rounds; i++) access.verify(token, START)
    }
    round()
    const ms = processorMs(round)
    assert.ok((ms * 1000) / rounds <= 60, `${(ms * 1000) / rounds} µs`)
  })
})

describe('a database that cannot be read', () => {
  test('gives neither a refusal nor the local user', async () => {
    await using opened = await openStore()
    using watched = watchConnections()
    const store = await opened.reopen()
    const { access } = tokensOver(store)
    const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
    const later = tokensOver(store)
    const gate = createAuthenticator(SETTINGS, later.checks, { log: createLog('silent'), platform: clock() })
    const db = watched.of(opened.path)
    const root = rootPage(db, 'access_token')
    db.pragma('wal_checkpoint(truncate)')
    damagePage(opened.path, root)
    db.pragma('shrink_memory')
    assert.equal(await gate({ ...FACTS, token }), AUTH_UNAVAILABLE)
  })
})

describe('the right of an administrator', () => {
  const minted: Principal = { ...LOCAL_PRINCIPAL }

  test('is refused to a token of the local user where an identity provider knows the administrators', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store, { settings: WITH_PROVIDER })
    await assert.rejects(access.mint(minted, { name: 'all', scopes: ['admin'] }), refused('FORBIDDEN'))
    await access.mint(minted, { name: 'most' })
  })

  test('comes with the scope admin, as long as the owner is an administrator', async () => {
    await using opened = await openStore()
    const local = tokensOver(opened.store)
    const all = await local.access.mint(minted, { name: 'all', scopes: ['read', 'write', 'admin'] })
    const most = await local.access.mint(minted, { name: 'most' })
    assert.equal((await local.access.verify(all.token, START))?.administrator, true)
    assert.equal((await local.access.verify(most.token, START))?.administrator, false)
    // The same rows on a server with an identity provider, where the local user has no special rights.
    assert.equal(
      (await tokensOver(opened.store, { settings: WITH_PROVIDER }).access.verify(all.token, START))?.administrator,
      false,
    )
  })

  test('is that of SVC_ADMIN_USERS with an identity provider', async () => {
    await using opened = await openStore()
    const named = tokensOver(opened.store, { settings: { ...WITH_PROVIDER, admin_users: ['ada'] } })
    const { token } = await named.access.mint({ ...ADA, administrator: true }, { name: 'root', scopes: ['admin'] })
    assert.equal((await named.access.verify(token, START))?.administrator, true)
    for (const settings of [WITH_PROVIDER, { ...LOCAL_MODE, admin_users: ['ada'] }])
      assert.equal((await tokensOver(opened.store, { settings }).access.verify(token, START))?.administrator, false)
  })

  test('cannot be minted by other users: FORBIDDEN', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store, { settings: WITH_PROVIDER })
    await assert.rejects(access.mint(ADA, { name: 'x', scopes: ['read', 'admin'] }), refused('FORBIDDEN'))
    assert.deepEqual(await access.list(ADA), [])
  })
})

describe('minting, listing and revoking', () => {
  test('is only for people: no token of any kind mints tokens', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store)
    const { id } = await access.mint(LOCAL_PRINCIPAL, { name: 'mine' })
    for (const trusted_as of ['access_token', 'delegated_token', 'mcp_token', 'app_session'] as const) {
      const program: Principal = { ...LOCAL_PRINCIPAL, trusted_as }
      await assert.rejects(access.mint(program, { name: 'more' }), refused('FORBIDDEN'))
      await assert.rejects(access.list(program), refused('FORBIDDEN'))
      await assert.rejects(access.revoke(program, id), refused('FORBIDDEN'))
    }
    assert.equal((await access.list(LOCAL_PRINCIPAL)).length, 1)
  })

  test('is limited to a user and a workspace, and foreign tokens are unknown tokens', async () => {
    await using opened = await openStore()
    const { store } = opened
    const { access } = tokensOver(store, { settings: WITH_PROVIDER })
    const mine = await access.mint(ADA, { name: 'mine' })
    const others: Principal[] = [
      { ...ADA, user_id: 'bob' },
      { ...ADA, workspace_id: 'blue' },
      { ...ADA, workspace_id: null },
    ]
    for (const other of others) {
      assert.deepEqual(await access.list(other), [])
      const costs: number[] = []
      for (const id of [mine.id, 'token_00000000000000000000000000000000', 'no such id']) {
        const before = store.statements
        await assert.rejects(access.revoke(other, id), refused('NOT_FOUND'))
        costs.push(store.statements - before)
      }
      assert.deepEqual(new Set(costs).size, 1, String(costs))
    }
    assert.notEqual(await access.verify(mine.token, START), null)
    assert.deepEqual(
      (await access.list(ADA)).map(({ id }) => id),
      [mine.id],
    )
  })

  test('lists the newest first', async () => {
    await using opened = await openStore()
    const platform = clock()
    const { access } = tokensOver(opened.store, { platform })
    for (const name of ['one', 'two', 'three']) {
      await access.mint(LOCAL_PRINCIPAL, { name })
      platform.ms += 1
    }
    assert.deepEqual(
      (await access.list(LOCAL_PRINCIPAL)).map(({ name }) => name),
      ['three', 'two', 'one'],
    )
  })

  test('fails at 1,000 tokens with CONFLICT; expired ones do not count', async () => {
    await using opened = await openStore()
    const platform = clock()
    const { access } = tokensOver(opened.store, { platform })
    const expires_at = new Date(START + HOUR_MS).toISOString()
    const short = await access.mint(LOCAL_PRINCIPAL, { name: 'short', expires_at })
    await Promise.all(Array.from({ length: 999 }, (_, i) => access.mint(LOCAL_PRINCIPAL, { name: `${i}` })))
    await assert.rejects(access.mint(LOCAL_PRINCIPAL, { name: 'too many' }), refused('CONFLICT'))
    assert.equal((await access.list(LOCAL_PRINCIPAL)).length, 1_000)
    await access.mint({ ...LOCAL_PRINCIPAL, workspace_id: 'other' }, { name: 'elsewhere there is room' })
    platform.ms += HOUR_MS
    await access.mint(LOCAL_PRINCIPAL, { name: 'fits' })
    const left = await access.list(LOCAL_PRINCIPAL)
    assert.equal(left.length, 1_000)
    assert.ok(!left.some(({ id }) => id === short.id))
    await assert.rejects(access.mint(LOCAL_PRINCIPAL, { name: 'too many' }), refused('CONFLICT'))
  })

  test('accepts only a time in the future, and returns it in UTC', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store)
    const told = async (expires_at: string) =>
      (await access.mint(LOCAL_PRINCIPAL, { name: 'x', expires_at })).expires_at
    assert.equal(await told('2026-01-15T11:00:00+01:00'), '2026-01-15T10:00:00.000Z')
    assert.equal(await told('2026-01-15t10:00:00.1234z'), '2026-01-15T10:00:00.123Z')
    assert.equal(await told('2026-01-15 10:00:00Z'), '2026-01-15T10:00:00.000Z')
    assert.equal(await told('9999-12-31T23:59:59Z'), '9999-12-31T23:59:59.000Z')
    const now = new Date(START).toISOString()
    assert.equal(await told('2026-06-30T23:59:60Z'), '2026-07-01T00:00:00.000Z')
    for (const past of [now, '2020-01-01T00:00:00Z', '9999-12-31T23:59:60Z', '9999-12-31T23:59:59-01:00'])
      await assert.rejects(access.mint(LOCAL_PRINCIPAL, { name: 'x', expires_at: past }), (error) => {
        assert.ok(error instanceof ServiceError && error.code === 'INVALID_PARAMETERS', past)
        assert.deepEqual(
          error.problems.map(({ path }) => path),
          ['/body/expires_at'],
        )
        return true
      })
  })
})

describe('the last use', () => {
  test('is precise to the minute, written later, and survives the end of the process', async () => {
    await using opened = await openStore()
    const { store } = opened
    const { access } = tokensOver(store)
    const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
    await access.verify(token, START + 12_345)
    const before = store.statements
    for (let ms = 0; ms < 59_000; ms += 100) await access.verify(token, START + ms)
    assert.equal(store.statements, before, 'no use within a minute costs a statement')
    const [told] = await access.list(LOCAL_PRINCIPAL)
    assert.equal(told?.last_used_at, '2026-01-15T09:30:00.000Z')
    await access.verify(token, START + 60_000)
    await access[Symbol.asyncDispose]()
    const again = tokensOver(await opened.reopen())
    assert.equal((await again.access.list(LOCAL_PRINCIPAL))[0]?.last_used_at, '2026-01-15T09:31:00.000Z')
  })

  test('is written after five seconds, once for all tokens', async (t) => {
    t.mock.timers.enable({ apis: ['setTimeout'] })
    await using opened = await openStore()
    const { store } = opened
    const { access } = tokensOver(store)
    const minted = await Promise.all([1, 2, 3].map((i) => access.mint(LOCAL_PRINCIPAL, { name: `${i}` })))
    for (const { token } of minted) await access.verify(token, START)
    const written = async () => (await tokensOver(store).access.list(LOCAL_PRINCIPAL)).map((one) => one.last_used_at)
    t.mock.timers.tick(4_999)
    await store.write(() => {})
    assert.deepEqual(await written(), [null, null, null])
    t.mock.timers.tick(1)
    await store.write(() => {})
    assert.deepEqual(await written(), Array(3).fill('2026-01-15T09:30:00.000Z'))
  })

  test('is dropped if it cannot be written, without other effects', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store)
    const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
    await access.verify(token, START)
    await opened.store[Symbol.asyncDispose]()
    await access[Symbol.asyncDispose]()
    const again = tokensOver(await opened.reopen())
    assert.equal((await again.access.list(LOCAL_PRINCIPAL))[0]?.last_used_at, null)
    assert.notEqual(await again.access.verify(token, START), null)
  })

  test('is not recorded for a wrong secret', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store)
    const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
    await access.verify(`${token.slice(0, -43)}${'A'.repeat(43)}`, START)
    await access[Symbol.asyncDispose]()
    assert.equal((await access.list(LOCAL_PRINCIPAL))[0]?.last_used_at, null)
  })

  test('never goes back, even if the clock was set back', async () => {
    await using opened = await openStore()
    const { access } = tokensOver(opened.store)
    const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
    await access.verify(token, START + HOUR_MS)
    await access[Symbol.asyncDispose]()
    assert.notEqual(await access.verify(token, START), null)
    assert.equal((await access.list(LOCAL_PRINCIPAL))[0]?.last_used_at, '2026-01-15T10:30:00.000Z')
    await access[Symbol.asyncDispose]()
    assert.equal((await access.list(LOCAL_PRINCIPAL))[0]?.last_used_at, '2026-01-15T10:30:00.000Z')
  })
})

describe('the secret part', () => {
  test('is in no file of the database', async () => {
    await using opened = await openStore()
    const { access, mcp } = tokensOver(opened.store)
    const { id, token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
    const issued = await mcp.issue(LOCAL_PRINCIPAL, { client_id: 'c', scopes: ['read'] })
    const files = [opened.path, `${opened.path}-wal`].filter(existsSync)
    const bytes = Buffer.concat(files.map((path) => readFileSync(path)))
    assert.ok(bytes.includes(id), 'the row is there')
    for (const secret of [token, issued.token].map((text) => text.slice(-43))) {
      const raw = Buffer.from(secret, 'base64url')
      for (const form of [secret, secret.slice(0, 12), raw, raw.toString('hex')]) assert.ok(!bytes.includes(form))
    }
  })

  test('is redacted in every text with a token', async () => {
    await using opened = await openStore()
    const { access, mcp, signed } = tokensOver(opened.store)
    const visitor = { app_id: 'shop', visitor_id: 'visitor_1', workspace_id: null }
    const { token } = await access.mint(LOCAL_PRINCIPAL, { name: 'agent' })
    const issued = await mcp.issue(LOCAL_PRINCIPAL, { client_id: 'c', scopes: ['read'] })
    const redactor = new Redactor()
    for (const one of [token, issued.token, signed.issueAppSession(visitor)])
      assert.equal(redactor.text(`it said "${one}".`), 'it said "[redacted]".')
  })
})
