// Assets are renamed, moved, annotated, deleted and downloaded; and malformed forms.
import assert from 'node:assert/strict'
import { request as send } from 'node:http'
import { Readable } from 'node:stream'
import { after, before, describe, test } from 'node:test'
import type { Asset, AssetPage } from '../../generated/types.ts'
import { clock, HOUR } from '../assets/kit.ts'
import { call, refused } from '../helpers/http.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { storedFiles } from './assets-kit.ts'
import { BOUNDARY, FORM_TYPE, fieldsForm, partHead } from './uploads-kit.ts'

type Fields = Readonly<Record<string, string>>
type File = Parameters<typeof fieldsForm>[1]

let server: TestServer
const platform = clock()
before(async () => {
  server = await startServer({ platform, config: { max_upload_bytes: 1_000_000 } })
})
after(() => server[Symbol.asyncDispose]())

async function made(fields: Fields, file?: File): Promise<Asset> {
  const { status, body, text } = await call<Asset>(server, 'POST', '/api/assets', fieldsForm(fields, file))
  assert.equal(status, 201, text)
  return body
}

const folder = (name: string, parent_id = 'root') => made({ name, parent_id, content_type: 'folder' })
const at = ({ id }: { id: string }) => `/api/assets/${id}`
const change = (asset: Asset, body: object) => call<Asset>(server, 'PUT', at(asset), { body })
const remove = (asset: Asset) => call(server, 'DELETE', at(asset))

describe('updateAsset', () => {
  test('renames, moves and annotates, each by itself', async () => {
    const within = await folder('Inbox')
    const asset = await made({ metadata: '{"a":1,"b":2}' }, { content: 'x', filename: 'x.txt' })
    platform.ms += 1_000
    const renamed = await change(asset, { name: 'up/../y\u0000.txt' })
    assert.equal(renamed.status, 200, renamed.text)
    const updated_at = new Date(platform.ms).toISOString()
    assert.deepEqual(renamed.body, { ...asset, name: 'y .txt', updated_at })
    const moved = await change(asset, { parent_id: within.id, name: null })
    assert.deepEqual(moved.body, { ...renamed.body, parent_id: within.id })
    const annotated = await change(asset, { metadata: { c: 3 } })
    assert.deepEqual(annotated.body, { ...moved.body, metadata: { c: 3 } })
    assert.deepEqual((await change(asset, { metadata: {}, parent_id: 'root' })).body, { ...renamed.body, metadata: {} })
    assert.deepEqual((await call(server, 'GET', at(asset))).body, { ...renamed.body, metadata: {} })
    const { headers, text } = await call(server, 'GET', `${at(asset)}/download`)
    assert.deepEqual([headers['content-disposition'], text], ['attachment; filename="y .txt"', 'x'])
  })

  test('detected metadata stay when the owner’s metadata are replaced', async () => {
    const gif = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64')
    const form = fieldsForm({ metadata: '{"mine":1}' }, { content: '#', filename: 'x.gif' })
    const [head, tail] = form.raw.split('#') as [string, string]
    const raw = Buffer.concat([Buffer.from(head), gif, Buffer.from(tail)])
    const { body } = await call<Asset>(server, 'POST', '/api/assets', { headers: form.headers, raw })
    const seen = await until('a look at it', async () => {
      const { metadata } = (await call<Asset>(server, 'GET', at(body))).body
      return 'width' in metadata && metadata
    })
    assert.deepEqual(seen, { mine: 1, width: 1, height: 1 })
    assert.deepEqual((await change(body, { metadata: { other: 2 } })).body.metadata, { other: 2, width: 1, height: 1 })
  })

  test('refuses impossible changes', async () => {
    const asset = await made({}, { content: 'x' })
    const outer = await folder('outer')
    const middle = await folder('middle', outer.id)
    const inner = await folder('inner', middle.id)
    const put = (of: Asset, body: object) => ['PUT', at(of), { body }] as const
    for (const to of [outer, middle, inner])
      assert.deepEqual(await refused(server, ...put(outer, { parent_id: to.id }), [409, 'conflict']), [])
    for (const parent_id of ['asset_of_nobody', asset.id])
      assert.deepEqual(await refused(server, ...put(outer, { parent_id }), [404, 'not_found']), ['/body/parent_id'])
    for (const name of ['/', '..', '.', ' \t', 'a/', '\u0000'])
      assert.deepEqual(await refused(server, ...put(asset, { name }), [400, 'invalid_request']), ['/body/name'])
    const big = { metadata: { text: 'x'.repeat(70_000) } }
    assert.deepEqual(await refused(server, ...put(asset, big), [400, 'invalid_request']), ['/body/metadata'])
    assert.deepEqual(await refused(server, ...put(asset, { size: 1, name: 5 }), [400, 'invalid_request']), [
      '/body/name',
      '/body/size',
    ])
    await refused(server, 'PUT', '/api/assets/asset_of_nobody', { body: { name: 'x' } }, [404, 'not_found'])
    const moved = await change(inner, { parent_id: 'root' })
    assert.equal(moved.body.parent_id, null)
    assert.equal((await change(outer, { parent_id: inner.id })).status, 200)
    assert.equal((await change(inner, { parent_id: middle.id })).status, 409)
  })
})

describe('deleteAsset', () => {
  test('deletes a folder with its whole content at any depth in one step, and the bytes', async () => {
    const before = storedFiles(server).length
    const top = await folder('top')
    let deepest = top
    const depth = scaled(60)
    for (let i = 0; i < depth; i++) deepest = await folder(`${i}`, deepest.id)
    const held = await made({ parent_id: deepest.id }, { content: 'held' })
    const beside = await made({ parent_id: top.id }, { content: 'beside' })
    const other = await made({ name: 'other' }, { content: 'beside' })
    platform.ms += 2 * HOUR
    assert.equal(storedFiles(server).length, before + 2)
    assert.equal((await remove(top)).status, 204)
    for (const gone of [top, deepest, held, beside]) assert.equal((await call(server, 'GET', at(gone))).status, 404)
    assert.equal((await call(server, 'GET', held.get_url!)).status, 404)
    assert.equal((await call(server, 'GET', other.get_url!)).text, 'beside')
    // The content of a folder is removed in portions of some milliseconds.
    await until('the bytes to go', () => storedFiles(server).length === before + 1)
    await refused(server, 'DELETE', at(top), {}, [404, 'not_found'])
  })

  test('deletes a folder of a thousand levels', async () => {
    const { service: library } = server.context.assets
    const owner = { user_id: '1', workspace_id: null }
    const top = await library.create(owner, { name: 'deep', content_type: 'folder' }, null)
    let last = top.id
    for (let i = 0; i < 1_000; i++)
      last = (await library.create(owner, { name: 'x', parent_id: last, content_type: 'folder' }, null)).id
    assert.equal((await change(top, { parent_id: last })).status, 409)
    assert.equal((await remove(top)).status, 204)
    assert.equal((await call(server, 'GET', `/api/assets/${last}`)).status, 404)
    assert.equal((await library.list(owner, { q: 'deep' })).assets.length, 0)
  })

  test('does not interrupt a running download', async () => {
    const content = 'a piece of it '.repeat(60_000)
    const asset = await made({}, { content })
    platform.ms += 2 * HOUR
    const body = await new Promise<string>((resolve, reject) => {
      send(`${server.url}${at(asset)}/download`, async (incoming) => {
        incoming.pause()
        assert.equal((await remove(asset)).status, 204)
        let text = ''
        incoming.setEncoding('utf8').on('data', (chunk: string) => {
          text += chunk
        })
        incoming.on('end', () => resolve(text)).on('error', reject)
        incoming.resume()
      }).end()
    })
    assert.ok(body === content)
  })
})

describe('downloadAsset', () => {
  test('has the ranges and conditions of storage', async () => {
    const asset = await made({ name: 'ä "1".html' }, { content: '<p>Hello, Ada!</p>', type: 'text/html' })
    const path = `${at(asset)}/download`
    const whole = await call(server, 'GET', path)
    assert.deepEqual(
      [whole.status, whole.text, whole.headers['content-disposition'], whole.headers['x-content-type-options']],
      [
        200,
        '<p>Hello, Ada!</p>',
        `attachment; filename="_ _1_.html"; filename*=UTF-8''%C3%A4%20%221%22.html`,
        'nosniff',
      ],
    )
    const { etag } = whole.headers
    assert.equal(etag, `"${asset.sha256}"`)
    const asked = (headers: Record<string, string>) => call(server, 'GET', path, { headers })
    assert.deepEqual((({ status, text }) => [status, text])(await asked({ Range: 'bytes=3-7' })), [206, 'Hello'])
    assert.equal((await asked({ 'If-None-Match': etag! })).status, 304)
    assert.equal((await asked({ Range: 'bytes=3-7', 'If-Range': '"other"' })).status, 200)
    assert.equal((await asked({ Range: 'bytes=99-' })).status, 416)
    assert.equal((await call(server, 'HEAD', path)).status, 200)
    await refused(server, 'GET', '/api/assets/asset_of_nobody/download', {}, [404, 'not_found'])
    await refused(server, 'GET', '/api/assets/temp_000000000000000000000000000000000000000000000000/download', {}, [
      404,
      'not_found',
    ])
  })
})

describe('forms that make no asset', () => {
  const post = (form: { headers: Record<string, string>; raw: string | Buffer }) =>
    ['POST', '/api/assets', form] as const
  const field = (name: string, value: string, more = '') => `${partHead(`name="${name}"`, more)}${value}\r\n`
  const file = `${partHead()}x\r\n`
  const form = (...parts: string[]) => ({
    headers: { 'Content-Type': FORM_TYPE },
    raw: Buffer.from(`${parts.join('')}--${BOUNDARY}--\r\n`, 'latin1'),
  })
  const unlabelled = `--${BOUNDARY}\r\nContent-Type: text/plain\r\n\r\nx\r\n`
  const deep = `${'['.repeat(70)}${']'.repeat(70)}`

  const cases: [string, string[], string[]][] = [
    ['an unknown field', [field('colour', 'red'), file], ['/body/colour']],
    [
      'a field of a record’s own',
      [field('__proto__', '{}'), field('constructor', 'x'), file],
      ['/body/__proto__', '/body/constructor'],
    ],
    ['a field twice', [field('name', 'a'), field('name', 'b'), file], ['/body/name']],
    ['an empty field', [field('name', ''), file], ['/body/name']],
    ['a long name', [field('name', 'x'.repeat(256)), file], ['/body/name']],
    ['a very long field', [field('name', 'x'.repeat(65_537)), file], ['/body/name']],
    ['a name of nothing', [field('name', '../..'), file], ['/body/name']],
    ['a long id', [field('parent_id', 'x'.repeat(513)), file], ['/body/parent_id']],
    ['metadata that are no JSON', [field('metadata', '{a}'), file], ['/body/metadata']],
    ['metadata that are no object', [field('metadata', '[1]'), file], ['/body/metadata']],
    ['metadata that are deep', [field('metadata', `{"a":${deep}}`), file], ['/body/metadata']],
    ['metadata with half a character', [field('metadata', '{"a":"\\ud800"}'), file], ['/body/metadata/a']],
    ['metadata that are long', [field('metadata', `{"a":"${'x'.repeat(65_600)}"}`), file], ['/body/metadata']],
    ['a field that is no UTF-8', [field('name', 'caf\xe9'), file], ['/body/name']],
    [
      'a field that claims another encoding',
      [field('name', '\xe9', 'Content-Type: text/plain; charset=iso-8859-1\r\n'), file],
      ['/body/name'],
    ],
    ['a field in base64', [field('name', 'eA==', 'Content-Transfer-Encoding: base64\r\n'), file], ['/body/name']],
    ['a field without a name', [`${partHead('x="y"', '')}z\r\n`, file], ['/body']],
    ['a part that says nothing of itself', [`--${BOUNDARY}\r\n\r\nx\r\n`, file], ['/body']],
    ['a part that says no more than its type', [unlabelled, file], ['/body']],
    ['such a part between fields', [field('name', 'a'), unlabelled, field('node_id', 'n'), file], ['/body']],
    ['such a part behind the file', [file, unlabelled], ['/body']],
    ['such a part behind fields, and no file', [field('uri', '/api/storage/1/x'), unlabelled], ['/body']],
    ['such a part, and a folder', [unlabelled, field('content_type', 'folder'), field('name', 'x')], ['/body']],
    ['nothing but such a part', [unlabelled], ['/body']],
    ['a part that is none of a form', [file.replace('form-data', 'attachment')], ['/body']],
    [
      'a part of a form that is called otherwise',
      [field('name', 'a').replace('form-data', 'form-database'), file],
      ['/body'],
    ],
    ['a boundary with something behind it', [field('name', 'a').replace(BOUNDARY, `${BOUNDARY} `), file], ['/body']],
    ['a part of a broken disposition', [field('name', 'a').replace('name="name"', 'name=na me'), file], ['/body']],
    ['the same, and no file', [field('name', 'a').replace('name="name"', 'name="name'), field('uri', '/x')], ['/body']],
    ['a field with its boundary in it', [field('name', `a\r\n--${BOUNDARY}s`), file], ['/body']],
    ['a file with its boundary in it', [`${partHead()}a\r\n--${BOUNDARY}s and more\r\n`], ['/body']],
    ['a digest that is none', [field('sha256', 'ABC'), file], ['/body/sha256']],
    ['another digest', [field('sha256', '0'.repeat(64)), file], ['/body/sha256']],
    ['a field behind the file', [file, field('name', 'a')], ['/body/name']],
    ['two files', [file, file], ['/body/file']],
    ['a file of another name', [file, `${partHead('name="data"; filename="x"')}x\r\n`], ['/body']],
    ['a file that is sent as a text', [field('file', 'x')], ['/body/file']],
    ['nothing', [], ['/body/file']],
    ['no file', [field('name', 'a')], ['/body/file']],
    ['too many fields', [...Array.from({ length: 40 }, (_, i) => field(`f${i}`, 'x')), file], ['/body']],
    ['a folder without a name', [field('content_type', 'folder')], ['/body/name']],
    ['a folder with bytes', [field('content_type', 'folder'), field('name', 'x'), file], ['/body/file']],
    [
      'a folder with what only files have',
      [
        field('content_type', 'folder'),
        field('name', 'x'),
        field('sha256', '0'.repeat(64)),
        field('job_id', 'j'),
        field('uri', '/api/storage/1/x'),
      ],
      ['/body/job_id', '/body/sha256', '/body/uri'],
    ],
  ]

  for (const [what, parts, paths] of cases) {
    test(`${what}: 400, and nothing is left`, async () => {
      const before = [storedFiles(server), await rows()]
      assert.deepEqual(await refused(server, ...post(form(...parts)), [400, 'invalid_request']), paths)
      assert.deepEqual([storedFiles(server), await rows()], before)
    })
  }

  test('an unknown reference: 404 before the bytes are read, and nothing is left', async () => {
    const before = [storedFiles(server), await rows()]
    for (const member of ['parent_id', 'replaces', 'workflow_id', 'job_id'])
      assert.deepEqual(await refused(server, ...post(form(field(member, 'of_nobody'), file)), [404, 'not_found']), [
        `/body/${member}`,
      ])
    assert.deepEqual([storedFiles(server), await rows()], before)
  })

  test('text before the first and behind the last boundary is ignored, and heads may be folded', async () => {
    const label = 'Content-Disposition: form-data;'
    const folded = field('name', 'a.txt').replace(label, 'content-disposition: form-data ;\r\n\t')
    const parts = ['a preamble\r\n', folded, `${partHead('name="metadata"; filename="m"')}{}\r\n`, file]
    const { headers, raw } = form(...parts)
    const bytes = Buffer.concat([raw, Buffer.from(`\r\n--${BOUNDARY}\r\nan epilogue\r\n`)])
    const { status, body, text } = await call<Asset>(server, 'POST', '/api/assets', { headers, raw: bytes })
    assert.deepEqual([status, body.name, body.size], [201, 'a.txt', 1], text)
    const made = form('a preamble\r\n', field('content_type', 'folder'), field('name', 'f'))
    assert.equal((await call(server, 'POST', '/api/assets', made)).status, 201)
  })

  test('a form is parsed in chunks of any size, with a file that almost contains the boundary', async () => {
    const almost = `\r\n--${BOUNDARY.slice(0, -1)}\r\n--`
    const fields = [field('name', 'n.txt'), `${partHead('name="metadata"; filename="m"')}{}\r\n`]
    for (const [size, content] of [
      [1, almost],
      [7, `${almost}${'x'.repeat(500)}${almost}`],
      [9_973, `${almost.repeat(20_000)}${'x'.repeat(100_000)}`],
    ] as const) {
      const { headers, raw } = form('a preamble\r\n', ...fields, `${partHead()}${content}\r\n`)
      const body = Readable.from(
        Array.from({ length: Math.ceil(raw.length / size) }, (_, at) => raw.subarray(at * size, (at + 1) * size)),
      )
      const answer = await fetch(`${server.url}/api/assets`, {
        method: 'POST',
        headers,
        body,
        duplex: 'half',
      } as RequestInit)
      const asset = (await answer.json()) as Asset
      assert.deepEqual([answer.status, asset.name, asset.size], [201, 'n.txt', content.length], JSON.stringify(asset))
    }
  })

  test('a form that is too large: 413', async () => {
    const before = [storedFiles(server), await rows()]
    const fields = ['name', 'uri', 'node_id', 'job_id', 'replaces'].map((name) => field(name, 'x'.repeat(60_000)))
    await refused(server, ...post(form(...fields, file)), [413, 'upload_too_large'])
    await refused(server, ...post(form(`${partHead()}${'x'.repeat(1_000_001)}\r\n`)), [413, 'upload_too_large'])
    assert.deepEqual([storedFiles(server), await rows()], before)
  })

  test('a body that is no form: 415', async () => {
    await refused(server, 'POST', '/api/assets', { body: { name: 'x' } }, [415, 'unsupported_media_type'])
    await refused(server, 'POST', '/api/assets', { raw: 'x', headers: { 'Content-Type': 'image/png' } }, [
      415,
      'unsupported_media_type',
    ])
  })

  const broken = form(field('name', 'cut.txt'), `${partHead()}${'x'.repeat(5_000)}\r\n`)

  test('a form that breaks off anywhere: 400, and nothing is left', async () => {
    const before = [storedFiles(server), await rows()]
    const { headers, raw } = broken
    for (let end = 0; end < raw.length - 4; end += Math.ceil(raw.length / 40))
      await refused(server, ...post({ headers, raw: raw.subarray(0, end) }), [400, 'invalid_request'])
    await until('the last of it to be gone', () => storedFiles(server).length === (before[0] as string[]).length)
    assert.deepEqual([storedFiles(server), await rows()], before)
  })

  test('a form whose connection is cut leaves nothing', async () => {
    await using own = await startServer()
    const before = storedFiles(own)
    const { raw } = broken
    for (const end of [10, 200, 3_000, raw.length - 3]) await cut(own, raw.subarray(0, end), raw.length)
    // The server has read everything before this request, and has finished that work when the request ends.
    await call(own, 'GET', '/health')
    await own.close()
    assert.deepEqual(storedFiles(own), before)
  })

  /** Sends the beginning of a body of `length` bytes, and disconnects. */
  function cut({ url }: TestServer, bytes: Buffer, length: number): Promise<void> {
    const { hostname, port } = new URL(url)
    return new Promise((resolve) => {
      const headers = { 'Content-Type': FORM_TYPE, 'Content-Length': length }
      const outgoing = send({ host: hostname, port, method: 'POST', path: '/api/assets', headers, agent: false })
      outgoing.on('error', () => {}).on('close', () => resolve())
      outgoing.write(bytes, () => outgoing.destroy())
    })
  }

  async function rows(): Promise<string[]> {
    const { assets } = (await call<AssetPage>(server, 'GET', '/api/assets?page_size=500')).body
    return assets.map(({ id }) => id)
  }
})
