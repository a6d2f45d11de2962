// Operations of the administrator.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Request, Response } from 'express'
import { type OperationInfo, operationManifest } from '../../generated/operations.ts'
import { LOCAL_PRINCIPAL, type Principal } from '../../src/access/principal.ts'
import type { Config } from '../../src/config.ts'
import { ServiceError } from '../../src/errors.ts'
import { checkAccess } from '../../src/http/pipeline/access-control.ts'
import { call, type ErrorBody, refused } from '../helpers/http.ts'
import { startIdentityProvider } from '../helpers/identity-provider.ts'
import { startServer } from '../helpers/server.ts'

const [operation] = operationManifest
const somebody: Principal = { ...LOCAL_PRINCIPAL, user_id: '2', administrator: false }

function passes(
  access: OperationInfo['access'],
  principal: Principal | null,
  identity_provider: Config['identity_provider'] = null,
): boolean {
  let passed = false
  const response = { locals: { principal } } as unknown as Response
  checkAccess({ ...operation!, access }, { identity_provider })({} as Request, response, () => {
    passed = true
  })
  return passed
}

test('FORBIDDEN: only the administrator may call operations for which the contract says so', () => {
  const reader: Principal = { ...LOCAL_PRINCIPAL, scopes: ['read'] }
  for (const [principal, message] of [
    [somebody, 'Only an administrator may do this.'],
    [reader, `The token lacks the scope ${operation!.scope === 'read' ? 'admin' : operation!.scope}.`],
    [null, 'Permission denied.'],
  ] as const) {
    assert.throws(
      () => passes('administrator', principal),
      (error) => error instanceof ServiceError && error.code === 'FORBIDDEN' && error.message === message,
    )
  }
  assert.ok(passes('administrator', LOCAL_PRINCIPAL))
  assert.ok(passes('principal', somebody))
  assert.ok(passes('public', null))
})

test('FORBIDDEN: the operator is an administrator if there are several users, else the only user of Local mode', async () => {
  const provider = { url: 'https://idp.test', key: 'a key' }
  const reader: Principal = { ...LOCAL_PRINCIPAL, scopes: ['read'] }
  assert.ok(passes('operator', LOCAL_PRINCIPAL))
  assert.ok(passes('operator', reader))
  assert.ok(passes('operator', LOCAL_PRINCIPAL, provider))
  for (const principal of [somebody, reader, null])
    assert.throws(() => passes('operator', principal, provider), { code: 'FORBIDDEN' })
})

test('FORBIDDEN: getMetrics counts all users, and is only for administrators if there are several', async () => {
  await using idp = await startIdentityProvider()
  await using server = await startServer({ environment: { ...idp.environment, SVC_ADMIN_USERS: 'root' } })
  const as = async (sub: string) => ({ headers: { Authorization: `Bearer ${await idp.token({ sub })}` } })
  await refused(server, 'GET', '/metrics', await as('ada'), [403, 'forbidden'])
  assert.equal((await call(server, 'GET', '/metrics', await as('root'))).status, 200)
  const tokenFor = async (scopes: string[]) => {
    const minted = await call<{ token: string }>(server, 'POST', '/api/tokens', {
      body: { name: 'a scraper', scopes },
      ...(await as('root')),
    })
    assert.equal(minted.status, 201, minted.text)
    return { headers: { Authorization: `Bearer ${minted.body.token}` } }
  }
  assert.equal((await call(server, 'GET', '/metrics', await tokenFor(['read', 'admin']))).status, 200)
  await refused(server, 'GET', '/metrics', await tokenFor(['read']), [403, 'forbidden'])
})

test('FORBIDDEN: other callers do not learn which paths exist below /admin', async () => {
  await using idp = await startIdentityProvider()
  await using server = await startServer({ environment: { ...idp.environment, SVC_ADMIN_USERS: 'root' } })
  const as = async (sub: string) => ({ headers: { Authorization: `Bearer ${await idp.token({ sub })}` } })
  for (const path of ['/admin/collections', '/admin/nowhere', '/admin/']) {
    await refused(server, 'GET', path, await as('ada'), [403, 'forbidden'])
    const { body } = await call<ErrorBody>(server, 'GET', path, await as('ada'))
    assert.equal(body.error.message, 'Only an administrator may do this.')
    const { status } = await call(server, 'GET', path, await as('root'))
    assert.equal(status, path === '/admin/collections' ? 200 : 404)
    assert.equal((await call(server, 'GET', path)).status, 401)
  }
  await refused(server, 'GET', '/administration', await as('ada'), [404, 'not_found'])
})
