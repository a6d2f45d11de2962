// Default deny: a request that is not exactly a public operation needs a principal, in any spelling and with any method.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { type OperationInfo, operationManifest } from '../../generated/operations.ts'
import { exchange } from '../access/kit.ts'
import { call } from '../helpers/http.ts'
import { startServer } from '../helpers/server.ts'

const REFUSED = '{"error":"Remote access requires authentication"}'
const NO_HTTP = JSON.stringify({
  error: { message: 'The request is not valid HTTP.', type: 'invalid_request', code: 400 },
})
/** A page of another site. */
const AWAY = { Origin: 'http://elsewhere.example' }
const AWAY_LINES = ['Host: localhost', 'Origin: http://elsewhere.example']

const METHODS = [
  'GET',
  'HEAD',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'SEARCH',
  'REPORT',
  'PURGE',
]

const PROTECTED = [
  '/api/workflows',
  '/api/workflows/greeting',
  '/api/jobs',
  '/metrics',
  '/admin/collections',
  '/mcp',
  '/v1/models',
]

/** Other spellings of a path, some of which other servers accept. */
function variants(path: string): string[] {
  const [, first = '', ...rest] = path.split('/')
  const tail = rest.length > 0 ? `/${rest.join('/')}` : ''
  const hex = (letter: string) => `%${letter.charCodeAt(0).toString(16)}`
  return [
    `/${hex(first[0]!)}${first.slice(1)}${tail}`,
    `/%25${hex(first[0]!).slice(1)}${first.slice(1)}${tail}`,
    path.slice(1).replace(/^/, '%2f'),
    path.replace(/\//g, '%2F').replace('%2F', '/'),
    `/${path}`,
    path.replaceAll('/', '//'),
    `/.${path}`,
    `/..${path}`,
    `/x/..${path}`,
    `/x/%2e%2e${path}`,
    `/x/..%2f${path.slice(1)}`,
    `/health/..${path}`,
    `/docs/..${path}`,
    `/docs/%2e%2e${path}`,
    `/api/workflows/public/../../..${path}`,
    path.toUpperCase(),
    `/${first[0]!.toUpperCase()}${first.slice(1)}${tail}`,
    `${path}/`,
    `${path}//`,
    `${path}/.`,
    `${path}/..`,
    `${path}/%2e%2e/health`,
    `${path};/health`,
    `${path};x=/health`,
    `/health;${path}`,
    `${path}?/health`,
    `${path}#/health`,
    `${path}%23/health`,
    `${path}%3f/health`,
    `${path}%00`,
    `${path}%20`,
    `${path}.json`,
    `${path}\\..\\health`,
    `/\\${path.slice(1)}`,
    `${path}%5c..%5chealth`,
    `http://localhost${path}`,
    `http://localhost/${path}`,
    `http://localhost/health/..${path}`,
    `http://health${path}`,
    `http://user@localhost${path}`,
    `HTTP://LOCALHOST:80${path}`,
  ]
}

describe('a protected path', () => {
  for (const path of PROTECTED) {
    test(`${path} is public in no other spelling`, async () => {
      await using server = await startServer()
      const port = Number(new URL(server.url).port)
      for (const target of [path, ...variants(path)]) {
        const { status, body } = await exchange(port, [`GET ${target} HTTP/1.1`, ...AWAY_LINES].join('\r\n'))
        // A few of them are no HTTP, and get only that error.
        if (status === 400) assert.equal(body, NO_HTTP, target)
        else assert.deepEqual([status, body], [401, REFUSED], target)
      }
    })
  }

  test('is not reached through a public path that takes any number of segments', async () => {
    await using server = await startServer()
    const port = Number(new URL(server.url).port)
    for (const path of PROTECTED) {
      for (const up of ['..%2f..%2f..', '../../..', '%2e%2e/%2e%2e/%2e%2e', '..\\..\\..']) {
        const line = `GET /api/workflows/examples/${up}${path} HTTP/1.1`
        const { status, body } = await exchange(port, [line, ...AWAY_LINES].join('\r\n'))
        assert.equal(status, 404, line)
        assert.match(body, /"workflow_not_found"/, line)
      }
    }
  })

  test('is public by no method', async () => {
    await using server = await startServer()
    for (const method of METHODS) {
      for (const path of [...PROTECTED, '/nowhere', '/ws', '/trpc/x']) {
        const { status, text } = await call(server, method, path, { headers: AWAY })
        assert.deepEqual([status, text], [401, method === 'HEAD' ? '' : REFUSED], `${method} ${path}`)
      }
    }
  })

  test('does not lead to another path', async () => {
    await using server = await startServer()
    const port = Number(new URL(server.url).port)
    for (const target of ['localhost:80', '/api/workflows', 'http://localhost/api/workflows']) {
      const { status, body } = await exchange(port, [`CONNECT ${target} HTTP/1.1`, 'Host: localhost'].join('\r\n'))
      assert.ok((Number.isNaN(status) || status === 400) && body === '', `${target}: ${status} ${body}`)
    }
  })

  test('is not made public by headers that name a path or a method', async () => {
    await using server = await startServer()
    const names = ['X-Original-URL', 'X-Rewrite-URL', 'X-Forwarded-Path', 'X-Forwarded-Uri', 'X-Forwarded-Prefix']
    for (const name of names) {
      const { status } = await call(server, 'GET', '/api/workflows', { headers: { ...AWAY, [name]: '/health' } })
      assert.equal(status, 401, name)
    }
    const override = { ...AWAY, 'X-HTTP-Method-Override': 'GET' }
    assert.equal((await call(server, 'POST', '/health', { headers: override })).status, 401)
  })
})

describe('the public paths', () => {
  const open = operationManifest.filter((one) => one.access === 'public' && one.implementation === 'implemented')

  test('are public only by their own methods', async () => {
    await using server = await startServer()
    for (const { path, operationId } of open) {
      const own = operationManifest.filter((one) => one.path === path && one.access === 'public')
      const methods = new Set(own.map(({ method }) => method.toUpperCase()))
      if (methods.has('GET')) methods.add('HEAD')
      for (const method of METHODS.filter((one) => !methods.has(one))) {
        const { status } = await call(server, method, concrete(path), { headers: AWAY })
        assert.equal(status, 401, `${method} ${operationId}`)
      }
    }
  })

  test('are public in no other spelling', async () => {
    await using server = await startServer()
    for (const path of ['/health', '/ready', '/api/health', '/openapi.json', '/docs', '/api/workflows/public'])
      for (const other of [`/${path}`, `${path}/`, path.toUpperCase(), `/x/..${path}`, `${path};x`, `${path}%20`]) {
        const { status } = await call(server, 'GET', other, { headers: AWAY })
        assert.equal(status, 401, other)
      }
  })
})

describe('an unknown path', () => {
  test('is refused without a principal, and 404 for the local user', async () => {
    await using server = await startServer()
    const planned = operationManifest.filter(({ implementation }) => implementation === 'planned')
    assert.ok(planned.length > 0)
    for (const { method, path, operationId } of planned) {
      const target = concrete(path)
      const refused = await call(server, method.toUpperCase(), target, { headers: AWAY })
      assert.deepEqual([refused.status, refused.text], [401, REFUSED], operationId)
      const told = await call(server, method.toUpperCase(), target)
      assert.ok([404, 405].includes(told.status), `${operationId}: ${told.status}`)
    }
    for (const path of ['/nowhere', '/api', '/api/', '/v1', '/ws', '/trpc', '/admin', '/admin/', '/favicon.ico']) {
      assert.equal((await call(server, 'GET', path, { headers: AWAY })).status, 401, path)
      assert.equal((await call(server, 'GET', path)).status, 404, path)
    }
  })

  test('is refused under any name', async () => {
    await using server = await startServer()
    const port = Number(new URL(server.url).port)
    const open = new Set(operationManifest.filter(isPublic).map(({ path }) => path))
    const word = fc.oneof(
      fc.constantFrom(
        'api',
        'health',
        'workflows',
        'public',
        'examples',
        'docs',
        '..',
        '.',
        '%2e%2e',
        'admin',
        'x',
        '',
      ),
      fc.stringMatching(/^[!"$-.0->@-~]{0,8}$/),
    )
    await fc.assert(
      fc.asyncProperty(fc.array(word, { minLength: 1, maxLength: 5 }), async (words) => {
        const target = `/${words.join('/')}`
        fc.pre(![...open].some((path) => pattern(path).test(target)))
        const { status } = await exchange(port, [`GET ${target} HTTP/1.1`, ...AWAY_LINES].join('\r\n'))
        assert.ok(status === 401 || status === 400, `${target}: ${status}`)
      }),
      { numRuns: 200 },
    )
  })
})

test('all operations below /admin are for the administrator in the contract', () => {
  const below = operationManifest.filter(({ path }) => path.startsWith('/admin'))
  assert.ok(below.length > 0)
  for (const { access, operationId } of below) assert.equal(access, 'administrator', operationId)
})

function isPublic({ access, implementation }: OperationInfo): boolean {
  return access === 'public' && implementation === 'implemented'
}

function concrete(path: string): string {
  return path.replace(/\{\w+\}/g, 'x')
}

/** Wider than any route: a wildcard may match several segments, and a slash may follow. */
function pattern(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', '\\.').replace(/\{\w+\}/g, '.+')}/?$`)
}
