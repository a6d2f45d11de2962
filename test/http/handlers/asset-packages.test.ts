// listAssetPackages and getAssetPackageFile: bundled files, byte for byte, for all callers and cacheable; no other file can be read; and runs load
// the files by their URLs.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync } from 'node:fs'
import { join, relative, sep } from 'node:path'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { AssetPackage, PreflightSummary, RunResult } from '../../../generated/types.ts'
import { detectContentType } from '../../../src/assets/content-type.ts'
import { call, refused } from '../../helpers/http.ts'
import { scaled } from '../../helpers/scale.ts'
import { startServer, type TestServer } from '../../helpers/server.ts'
import { reader } from '../storage-kit.ts'

const FOLDER = join(import.meta.dirname, '../../../src/packages')
const LIST = '/api/assets/packages'
const SALES = `${LIST}/tables/sales.csv`

let server: TestServer
let http: ReturnType<typeof reader>
before(async () => {
  server = await startServer()
  http = reader(server)
})
after(async () => {
  http[Symbol.dispose]()
  await server[Symbol.asyncDispose]()
})

async function packages(): Promise<AssetPackage[]> {
  const { status, body } = await call<AssetPackage[]>(server, 'GET', LIST)
  assert.equal(status, 200)
  return body
}

function filesOf(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)).split(sep).join('/'))
    .sort()
}

describe('the bundled packages', () => {
  test('are listed by listAssetPackages with all files by name, their sizes and digests', async () => {
    const listed = await packages()
    assert.ok(listed.length >= 4)
    const names = listed.map(({ name }) => name)
    assert.deepEqual(names, [...names].sort())
    const paths = listed.flatMap(({ name, files }) => files.map(({ path }) => `${name}/${path}`))
    assert.deepEqual(
      paths.sort(),
      filesOf(FOLDER).filter((path) => path.includes('/')),
    )
    for (const { name, files, license, title, description } of listed) {
      assert.ok(title !== '' && description.endsWith('.') && license === 'CC0-1.0')
      for (const { path, size, sha256, content_type, url } of files) {
        const bytes = readFileSync(join(FOLDER, name, path))
        const made = 'run: node src/launch/node.mjs test/packages/main.ts'
        assert.deepEqual([size, sha256], [bytes.length, createHash('sha256').update(bytes).digest('hex')], made)
        assert.equal(detectContentType(bytes, content_type), content_type, path)
        // A URL in a workflow needs no escapes.
        assert.match(`${name}/${path}`, /^[a-z0-9-]+(\/[a-z0-9.-]+)+$/)
        assert.equal(url, `${LIST}/${name}/${path}?v=${sha256.slice(0, 16)}`)
      }
    }
  })

  test('are small', async () => {
    const bytes = (await packages()).flatMap(({ files }) => files.map(({ size }) => size))
    assert.ok(bytes.reduce((sum, size) => sum + size, 0) < 600_000)
  })

  test('are served by getAssetPackageFile at the URL of every file, cacheable forever', async () => {
    for (const { files } of await packages()) {
      for (const { url, sha256, size, content_type } of files) {
        const { status, headers, bytes } = await http.read('GET', url)
        assert.equal(status, 200)
        assert.equal(createHash('sha256').update(bytes).digest('hex'), sha256)
        assert.equal(headers['content-length'], String(size))
        assert.equal(headers['content-type'], content_type)
        assert.equal(headers.etag, `"${sha256}"`)
        assert.equal(headers['cache-control'], 'public, max-age=31536000, immutable')
        assert.equal(headers['x-content-type-options'], 'nosniff')
        assert.equal(headers['last-modified'], undefined)
        assert.equal(headers['accept-ranges'], 'bytes')
      }
    }
  })

  test('must be revalidated if the URL does not contain the version', async () => {
    for (const query of ['', '?v=0000000000000000', `?v=${'a'.repeat(64)}`]) {
      const { status, headers } = await call(server, 'GET', SALES + query)
      assert.deepEqual([status, headers['cache-control']], [200, 'public, no-cache'], query)
    }
    const list = await call(server, 'GET', LIST)
    assert.equal(list.headers['cache-control'], 'public, no-cache')
  })

  test('are not sent again to a client that has them', async () => {
    for (const path of [LIST, SALES, `${SALES}?v=x`]) {
      const { etag } = (await call(server, 'GET', path)).headers
      for (const tag of [etag!, `"x", W/${etag}`, '*']) {
        const again = await call(server, 'GET', path, { headers: { 'If-None-Match': tag } })
        assert.deepEqual([again.status, again.text, again.headers.etag], [304, '', etag])
        assert.equal(again.headers['cache-control'], 'public, no-cache')
      }
      assert.equal((await call(server, 'GET', path, { headers: { 'If-None-Match': '"x"' } })).status, 200)
    }
  })

  test('can be read in ranges', async () => {
    const whole = readFileSync(join(FOLDER, 'tables/sales.csv'))
    const etag = `"${createHash('sha256').update(whole).digest('hex')}"`
    const read = async (headers: Record<string, string>) => {
      const answer = await http.read('GET', SALES, headers)
      return [answer.status, answer.bytes.toString(), answer.headers['content-range']]
    }
    const part = [206, whole.toString('utf8', 5, 9), `bytes 5-8/${whole.length}`]
    assert.deepEqual(await read({ Range: 'bytes=5-8' }), part)
    assert.deepEqual(await read({ Range: 'bytes=5-8', 'If-Range': etag }), part)
    const changed = [200, whole.toString(), undefined]
    assert.deepEqual(await read({ Range: 'bytes=5-8', 'If-Range': '"x"' }), changed)
    assert.deepEqual(await read({ Range: 'bytes=5-8', 'If-Range': new Date().toUTCString() }), changed)
    const beyond = await call(server, 'GET', SALES, { headers: { Range: `bytes=${whole.length}-` } })
    assert.deepEqual([beyond.status, beyond.headers['content-range']], [416, `bytes */${whole.length}`])
  })

  test('are served to all callers', async () => {
    await using remote = await startServer({ environment: { SVC_TRUST_LOCALHOST: 'false' } })
    for (const path of [LIST, SALES])
      for (const Authorization of ['', 'Bearer nobody'])
        assert.equal((await call(remote, 'GET', path, { headers: { Authorization } })).status, 200)
    assert.equal((await call(remote, 'GET', '/api/storage/1/x.txt')).status, 401)
  })

  test('support no other method, and no unknown query parameter', async () => {
    for (const method of ['PUT', 'POST', 'DELETE'])
      assert.equal((await call(server, method, SALES)).status, 405, method)
    const head = await http.read('HEAD', SALES)
    assert.deepEqual([head.status, head.bytes.length], [200, 0])
    assert.deepEqual(await refused(server, 'GET', `${SALES}?w=1`, {}, [400, 'invalid_request']), ['/query/w'])
    const long = `${SALES}?v=${'a'.repeat(65)}`
    assert.deepEqual(await refused(server, 'GET', long, {}, [400, 'invalid_request']), ['/query/v'])
  })
})

describe('a path outside of the packages', () => {
  test('gives 404', async () => {
    for (const path of [
      'tables',
      'tables/sales',
      'tables/sales.csv/x',
      'Tables/sales.csv',
      'index.json',
      'README.md',
      'office/handbook.docx:stream',
      'tables/%73ales.csv%20',
      '%252e%252e/index.json',
      'tables/%252e%252e%252findex.json',
      '~/tables/sales.csv',
      '__proto__',
      'constructor/name',
    ])
      await refused(server, 'GET', `${LIST}/${path}`, {}, [404, 'not_found'])
  })

  test('may be written with %2F, like any path', async () => {
    const { status, text } = await call(server, 'GET', `${LIST}/tables%2f%73ales.csv`)
    assert.deepEqual([status, text], [200, readFileSync(join(FOLDER, 'tables/sales.csv'), 'utf8')])
  })

  const outside = ['package.json', 'src/assets/bundled-packages.ts', 'src/packages/index.json']

  test('is refused if it leads outside, in any spelling', async () => {
    for (const up of [
      '..',
      '%2e%2e',
      '.%2E',
      '%2E.',
      '..%2f..',
      '..%5c..',
      '.',
      '%2e',
      '',
      '%00',
      'a%00.csv',
      '..\\..',
      '%0a',
    ])
      for (const path of [`${up}/index.json`, `tables/${up}/index.json`, `tables/${up}/../../../package.json`])
        await refused(server, 'GET', `${LIST}/${path}`, {}, [400, 'invalid_request'])
    await refused(server, 'GET', `${LIST}/%2Fetc%2Fpasswd`, {}, [400, 'invalid_request'])
    assert.ok([400, 404].includes((await call(server, 'GET', `${LIST}/tables/%ff.csv`)).status))
  })

  test('is never read, for any request', async () => {
    const texts = outside.map((path) => readFileSync(join(FOLDER, '../..', path), 'utf8'))
    const piece = fc.constantFrom(
      '..',
      '%2e%2e',
      '/',
      '%2f',
      '%5c',
      '\\',
      '.',
      'tables',
      'sales.csv',
      'index.json',
      '%00',
      '%252e',
      'src',
      'package.json',
      ';',
      '?',
      '#',
      '//',
    )
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { minLength: 1, maxLength: 8 }), async (pieces) => {
        const { status, bytes } = await http.read('GET', `${LIST}/${pieces.join('').split(/[?#]/)[0]}`)
        assert.ok([200, 400, 404].includes(status), String(status))
        assert.ok(!texts.includes(bytes.toString()))
      }),
      { numRuns: scaled(200) },
    )
  })
})

const graph = {
  nodes: [
    { id: 'file', type: 'input.Any', data: { name: 'file', value: SALES } },
    { id: 'load', type: 'asset.Load', data: {} },
    { id: 'out', type: 'output.Output', data: { name: 'text' } },
  ],
  edges: [
    { id: 'a', source: 'file', sourceHandle: 'output', target: 'load', targetHandle: 'asset' },
    { id: 'b', source: 'load', sourceHandle: 'text', target: 'out', targetHandle: 'value' },
  ],
}

describe('a run', () => {
  async function workflow(nodes = graph): Promise<string> {
    const body = { name: 'Reads a file', graph: nodes }
    return (await call<{ id: string }>(server, 'POST', '/api/workflows', { body })).body.id
  }

  test('loads a bundled file by its path, its URL at this server, and as a value', async () => {
    const id = await workflow()
    const text = readFileSync(join(FOLDER, 'tables/sales.csv'), 'utf8')
    const { url } = (await packages()).flatMap(({ files }) => files).find(({ path }) => path === 'sales.csv')!
    for (const file of [undefined, url, server.url + url, ` ${SALES} `, { uri: url }]) {
      const body = { params: file === undefined ? {} : { file } }
      const run = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body })
      assert.deepEqual([run.body.error, run.body.outputs], [null, { text }])
    }
  })

  test('fails with a clear message for an unknown file', async () => {
    const id = await workflow()
    const ends = {
      'tables/none.csv': /There is no asset at \/api\/assets/,
      '../index.json': /is not a reference to an asset/,
    }
    for (const [path, message] of Object.entries(ends)) {
      const body = { params: { file: `${LIST}/${path}` } }
      const run = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body })
      assert.match(run.body.error!.message, message)
    }
  })

  test('with an unknown file is reported by its preflight before', async () => {
    const [file, , out] = graph.nodes
    const edges = [{ id: 'a', source: 'file', sourceHandle: 'output', target: 'out', targetHandle: 'value' }]
    const workflow_id = await workflow({ nodes: [file!, out!], edges })
    const asked = async (file: unknown) => {
      const body = { workflow_id, level: 'availability', inputs: { file } }
      const { requirements } = (await call<PreflightSummary>(server, 'POST', '/api/sdk/v1/preflight', { body })).body
      return requirements
        .filter(({ kind }) => kind === 'asset')
        .map(({ id, name, status, blocking }) => [id, name, status, blocking])
    }
    assert.deepEqual(await asked(`${SALES}?v=1`), [[SALES, 'sales.csv', 'available', true]])
    assert.deepEqual(await asked([`${server.url}${SALES}`]), [[SALES, 'sales.csv', 'available', true]])
    assert.deepEqual(await asked({ uri: `${LIST}/x.csv` }), [[`${LIST}/x.csv`, `${LIST}/x.csv`, 'missing', true]])
    assert.deepEqual(await asked(`as in ${SALES}.`), [[SALES, 'sales.csv', 'available', false]])
  })
})
