// What is declared and not built: a planned operation answers exactly as an unknown path does, but for what it says of where to go instead.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { errorCatalogue } from '../../generated/errors.ts'
import { type OperationInfo, operationManifest } from '../../generated/operations.ts'
import { findRouteHint } from '../../src/http/pipeline/route-hints.ts'
import { type Answer, call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'

const planned = operationManifest.filter(({ implementation }) => implementation === 'planned')
const served = operationManifest.filter(({ implementation }) => implementation === 'implemented')

/** Paths that an implemented operation with another method, or a less literal path, answers. */
function shared({ path }: OperationInfo): boolean {
  return served.some((other) => pattern(other.path).test(path.replace(/\{\w+\}/g, 'x')))
}

function pattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '[^/]+')}$`)
}

/** `signpost`: what it may say in place of the plain message. */
function withoutIds({ status, headers, text: told }: Answer, signpost?: string): object {
  const { date: _date, 'x-request-id': _id, ...rest } = headers
  const text = signpost === undefined ? told : told.replace(signpost, errorCatalogue.NOT_FOUND.message)
  const length = Number(headers['content-length']) + Buffer.byteLength(text) - Buffer.byteLength(told)
  return { status, headers: { ...rest, 'content-length': length }, text }
}

/** A path that nobody declares, behind the same door. */
function unknownBeside(path: string): string {
  const [door = ''] = /^\/(?:v1|api\/sdk\/v1)(?=\/)/.exec(path) ?? []
  return `${door}/nowhere/at/all`
}

const BODY = { raw: '{"any": true}', headers: { 'Content-Type': 'application/json' } }

describe('planned operations', () => {
  test('are all but those of the first milestone', () => {
    assert.ok(planned.length > 0)
    assert.equal(planned.length + served.length, operationManifest.length)
  })

  test('answer as an unknown path, with and without a trailing slash', async () => {
    await using server = await startServer()
    for (const operation of planned.filter((one) => !shared(one))) {
      const path = operation.path.replace(/\{\w+\}/g, 'x')
      const method = operation.method.toUpperCase()
      for (const options of [{}, method === 'GET' || method === 'HEAD' ? {} : BODY]) {
        const expected = withoutIds(await call(server, method, unknownBeside(path), options))
        for (const asked of [path, `${path}/`]) {
          const answer = withoutIds(await call(server, method, asked, options), findRouteHint(method, asked))
          assert.deepEqual(answer, expected, operation.operationId)
        }
      }
    }
  })

  test('behind a path that is served with other methods are 405, and Allow does not name them', async () => {
    await using server = await startServer()
    for (const operation of planned.filter(shared)) {
      const method = operation.method.toUpperCase()
      const answer = await call(server, method, operation.path.replace(/\{\w+\}/g, 'x'), BODY)
      assert.ok([404, 405].includes(answer.status), `${operation.operationId}: ${answer.status}`)
      assert.ok(!String(answer.headers.allow).split(', ').includes(method), operation.operationId)
    }
  })

  test('are 401 before that for callers who are not let in, public ones too', async () => {
    await using server = await startServer()
    for (const { method, path, operationId } of planned) {
      const headers = { Origin: 'http://evil.com' }
      const answer = await call(server, method.toUpperCase(), path.replace(/\{\w+\}/g, 'x'), { headers })
      assert.equal(answer.status, 401, operationId)
      if (method !== 'head') assert.deepEqual(answer.body, { error: 'Remote access requires authentication' })
    }
  })
})
