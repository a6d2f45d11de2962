// Whatever part of the service failed, an error shows its caller no known secret.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { toCallerError } from '../../src/access/caller-errors.ts'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { ownerScopeKey } from '../../src/db/owner-scope.ts'
import { ServiceError } from '../../src/errors.ts'
import { Redactor } from '../../src/redaction/redactor.ts'

const [OPERATOR, MINE] = ['planted-operator-4711', 'planted-caller-4711']
const redactor = new Redactor([OPERATOR])
redactor.add(MINE, ownerScopeKey(LOCAL_PRINCIPAL))

test('an error is shown without the secrets of the service and of its caller, and is otherwise the same', () => {
  const error = new ServiceError('INVALID_REQUEST', {
    message: `a ${OPERATOR}`,
    param: `b ${MINE}`,
    problems: [{ path: `/body/${MINE}`, message: `c ${OPERATOR}`, code: 'x' }],
    more_problems: true,
    headers: { 'Retry-After': '5' },
    job_id: 'job',
  })
  const shown = toCallerError(error, LOCAL_PRINCIPAL, redactor)
  assert.equal(shown.message, 'a [redacted]')
  assert.equal(shown.param, 'b [redacted]')
  assert.deepEqual(shown.problems, [{ path: '/body/[redacted]', message: 'c [redacted]', code: 'x' }])
  assert.deepEqual(
    [shown.code, shown.headers, shown.job_id, shown.more_problems],
    ['INVALID_REQUEST', { 'Retry-After': '5' }, 'job', true],
  )
  assert.equal(shown.cause, error)
})

test('an error without secrets is not copied, and anything else thrown is an internal error', () => {
  const plain = new ServiceError('NOT_FOUND')
  assert.equal(toCallerError(plain, LOCAL_PRINCIPAL, redactor), plain)
  assert.equal(toCallerError(plain, null, redactor), plain)
  const cause = new Error(OPERATOR)
  const internal = toCallerError(cause, LOCAL_PRINCIPAL, redactor)
  assert.deepEqual([internal.code, internal.cause], ['INTERNAL_ERROR', cause])
})
