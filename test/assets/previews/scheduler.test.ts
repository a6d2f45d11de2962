// Tests the metadata and thumbnails of content, thumbnails by their pixels, and how they are served.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import sharp from 'sharp'
import type { JobSnapshot } from '../../../generated/types.ts'
import { formatOwnMetadata, readMetadata } from '../../../src/assets/metadata.ts'
import { thumbnailStorageKey, thumbnailUrl } from '../../../src/assets/previews/thumbnail-keys.ts'
import { sha256OfBytes } from '../../../src/assets/storage-keys.ts'
import { insertAsset } from '../../../src/db/assets/rows.ts'
import type { OwnerScope } from '../../../src/db/owner-scope.ts'
import { call } from '../../helpers/http.ts'
import { PATIENCE_MS } from '../../helpers/patience.ts'
import { startServer, type TestServer, until } from '../../helpers/server.ts'
import { connect } from '../../helpers/socket.ts'
import { edge, node } from '../../http/kit.ts'
import { pdf, pdfOf } from '../../nodes/document-files.ts'
import { about, BOB } from '../kit.ts'
import { blank, distance, flag, flagged, pixelsOf } from '../pictures.ts'

const ME = { user_id: '1', workspace_id: null }

let server: TestServer

before(async () => {
  server = await startServer()
})
after(() => server[Symbol.asyncDispose]())

/** Stores bytes as a new asset, as a job does, and returns its id. */
async function kept(bytes: Uint8Array, content_type: string | null = null, scope: OwnerScope = ME): Promise<string> {
  const { store } = server.context
  const { store: assets } = server.context.assets
  const prepared = assets.prepare(scope, bytes, about({ content_type }))
  await store.write((tx) => assets.insert(tx, prepared))
  return prepared.row.id
}

/** Returns the row of an asset, once its preview was generated. */
async function seen(id: string, scope: OwnerScope = ME) {
  return until(`a look at ${id}`, () => {
    const row = server.context.assets.store.findById(scope, id)
    return row?.previewed === 1 && row
  })
}

/** Returns the metadata of new content, and its thumbnail as it is served. */
async function look(bytes: Uint8Array, content_type: string | null = null) {
  const row = await seen(await kept(bytes, content_type))
  const url = thumbnailUrl(row)
  const answer = url === null ? null : await fetch(server.url + url)
  const picture = answer && new Uint8Array(await answer.arrayBuffer())
  return { row, url, answer, picture, metadata: readMetadata(row.metadata) }
}

async function pictured(bytes: Uint8Array, content_type: string | null = null) {
  const { picture, metadata } = await look(bytes, content_type)
  assert.ok(picture, 'there is a picture')
  const pixels = await pixelsOf(picture)
  assert.deepEqual([pixels.format, pixels.tagged], ['webp', false])
  return { ...pixels, metadata, size: [pixels.width, pixels.height] }
}

describe('a thumbnail', () => {
  for (const format of ['png', 'jpeg', 'webp', 'gif', 'tiff', 'avif'] as const)
    test(`of ${format} fits into a square, and matches the golden picture`, async () => {
      const image = await pictured(await flag(1024, 400).toFormat(format).toBuffer())
      assert.deepEqual([image.size, image.metadata], [[512, 200], { width: 1024, height: 400 }])
      const farthest = distance(image, flagged(512))
      assert.ok(farthest <= 12, `${farthest} levels from the golden picture`)
    })

  test('is never larger than the original', async () => {
    const image = await pictured(await flag(40, 20).png().toBuffer())
    assert.deepEqual([image.size, image.metadata], [[40, 20], { width: 40, height: 20 }])
  })

  test('is rotated as the camera was held, and has no metadata about it', async () => {
    const shot = flag(600, 300).withMetadata({ orientation: 6, exif: { IFD0: { Artist: 'Ada' } } })
    const image = await pictured(await shot.jpeg({ quality: 100, chromaSubsampling: '4:4:4' }).toBuffer())
    assert.deepEqual([image.size, image.metadata], [[256, 512], { width: 300, height: 600 }])
    // The left half is on top.
    const golden = flagged(512)
    assert.ok(distance(image, (_x, y) => golden(y)) <= 12)
  })

  test('is transparent where the original is', async () => {
    const pixels = Buffer.alloc(40 * 40 * 4)
    for (let at = 0; at < 40 * 40; at++) pixels.set([0, 0, 255, at % 40 < 20 ? 255 : 0], at * 4)
    const hole = await sharp(pixels, { raw: { width: 40, height: 40, channels: 4 } })
      .png()
      .toBuffer()
    const { data } = await pictured(hole)
    assert.deepEqual([data[(20 * 40 + 5) * 4 + 3], data[(20 * 40 + 35) * 4 + 3]], [255, 0])
  })

  test('of an animation is its first frame', async () => {
    const frames = Buffer.concat([Buffer.alloc(20 * 20 * 3, 255), Buffer.alloc(20 * 20 * 3, 0)])
    const raw = { width: 20, height: 40, channels: 3, pageHeight: 20 } as const
    const image = await pictured(await sharp(frames, { raw }).gif().toBuffer())
    assert.deepEqual([image.size, image.metadata], [[20, 20], { width: 20, height: 20, frames: 2 }])
    assert.equal(
      distance(image, () => [255, 255, 255, 255]),
      0,
    )
  })

  test('of a PDF is its first page', async () => {
    const page = { width: 600, height: 1000 }
    const red = { ...page, content: '1 0 0 rg 0 0 300 1000 re f 0 0 1 rg 300 0 300 1000 re f' }
    const image = await pictured(pdf(red, { ...page, content: '' }, { ...page, content: '' }))
    assert.deepEqual([image.size, image.metadata], [[307, 512], { pages: 3 }])
    assert.ok(distance(image, flagged(307)) <= 12)
  })

  test('of an SVG is drawn without files and without the network', async () => {
    let asked = 0
    await using web = createServer((_request, response) => {
      asked++
      response.end()
    }).listen(0, '127.0.0.1')
    const file = join(server.data_dir, 'secret.png')
    writeFileSync(file, await blank(40, 40))
    const images = [file, `file://${file}`, `http://127.0.0.1:${(web.address() as AddressInfo).port}/x.png`]
      .map((href) => `<image href="${href}" xlink:href="${href}" width="40" height="40"/>`)
      .join('')
    const green = '<rect width="40" height="40" fill="#00ff00"/>'
    const drawn = (inside: string, type = '') => svg('width="40" height="40"', green + inside, type)
    const image = await pictured(drawn(images), 'image/svg+xml')
    assert.deepEqual([image.size, image.metadata], [[40, 40], { width: 40, height: 40 }])
    assert.ok(distance(image, () => [0, 255, 0, 255]) <= 12)
    assert.equal(asked, 0)
    const entity = await look(
      drawn('<text>&x;</text>', `<!DOCTYPE svg [<!ENTITY x SYSTEM "file://${file}">]>`),
      'image/svg+xml',
    )
    if (entity.picture) assert.ok(distance(await pixelsOf(entity.picture), () => [0, 255, 0, 255]) <= 12)
  })
})

describe('the metadata', () => {
  test('of a sound include its duration, even if it is longer than the bytes that are read', async () => {
    const seconds = 30
    const data = Buffer.alloc(44 + 8_000 * 2 * 2 * seconds)
    data.write('RIFF', 0, 'latin1')
    data.writeUInt32LE(data.length - 8, 4)
    data.write('WAVEfmt ', 8, 'latin1')
    for (const [at, value] of [
      [16, 16],
      [24, 8_000],
      [28, 32_000],
    ] as const)
      data.writeUInt32LE(value, at)
    for (const [at, value] of [
      [20, 1],
      [22, 2],
      [32, 4],
      [34, 16],
    ] as const)
      data.writeUInt16LE(value, at)
    data.write('data', 36, 'latin1')
    data.writeUInt32LE(data.length - 44, 40)
    const { url, metadata } = await look(data)
    assert.deepEqual([url, metadata], [null, { duration: seconds, channels: 2, sample_rate: 8_000 }])
  })

  test('of a text are empty, and no task runs for it', async () => {
    const row = server.context.assets.store.findById(ME, await kept(Buffer.from('Hello')))!
    assert.deepEqual([row.previewed, row.thumb_key, readMetadata(row.metadata)], [1, null, {}])
  })

  test('do not override what the owner sets', async () => {
    const { store } = server.context
    const { store: assets } = server.context.assets
    const { row } = assets.prepare(ME, await flag(30, 10).png().toBuffer(), about())
    const own = formatOwnMetadata({ width: 'wide', title: 'Flag' })
    await store.write((tx) => insertAsset(tx, { ...row, metadata: own }))
    await server.context.assets.previews.prioritize(row, PATIENCE_MS)
    assert.deepEqual(readMetadata((await seen(row.id)).metadata), { width: 'wide', height: 10, title: 'Flag' })
  })
})

function svg(attributes: string, inside: string, type = ''): Buffer {
  const names = 'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink"'
  return Buffer.from(`${type}<svg ${names} ${attributes}>${inside}</svg>`)
}

describe('hostile content', () => {
  const cut = (bytes: Buffer) => bytes.subarray(0, bytes.length / 2)
  const page = '<</Type/Page/Parent 2 0 R/MediaBox[0 0 1e9 1e9]>>'
  const cases: Record<string, () => Promise<Uint8Array> | Uint8Array> = {
    'a picture of too many pixels': () => blank(16_000, 16_000),
    'a picture that is cut off': async () =>
      cut(
        await sharp({
          create: {
            width: 300,
            height: 300,
            channels: 3,
            background: '#000',
            noise: { type: 'gaussian', mean: 128, sigma: 30 },
          },
        })
          .jpeg()
          .toBuffer(),
      ),
    'a picture of nothing but its first bytes': () => Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'),
    'a PDF without pages': () => pdfOf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[]/Count 0>>']),
    'a PDF that is none': () => Buffer.from('%PDF-1.7 and no more'),
    'an SVG of too many pixels': () => svg('width="30000" height="30000"', ''),
    'an SVG of entities of entities': () => {
      const names = [...'abcdefghijklmnop']
      const entities = names.map(
        (name, at) => `<!ENTITY ${name} "${at === 0 ? 'ha' : `&${names[at - 1]};`.repeat(16)}">`,
      )
      return svg('width="40" height="40"', '<text>&p;</text>', `<!DOCTYPE svg [${entities.join('')}]>`)
    },
    'a sound that is cut off': () => Buffer.from('RIFF\x10\0\0\0WAVEfmt \x10\0\0\0', 'latin1'),
  }
  for (const [name, bytes] of Object.entries(cases))
    test(`such as ${name} has no thumbnail, and does not harm the server`, async () => {
      const { url, row } = await look(await bytes(), name.includes('SVG') ? 'image/svg+xml' : null)
      assert.deepEqual([url, row.thumb_key, row.metadata], [null, null, '{}'])
      assert.equal((await fetch(`${server.url}/health`)).status, 200)
    })

  test('with a page of a square kilometre is drawn small, or not at all', async () => {
    const { row } = await look(pdfOf(['<</Type/Catalog/Pages 2 0 R>>', '<</Type/Pages/Kids[3 0 R]/Count 1>>', page]))
    assert.equal(row.previewed, 1)
    assert.ok((await pictured(await flag(64, 64).png().toBuffer())).width === 64)
  })
})

describe('a thumbnail and its key', () => {
  test('it is a file of its own, with an ETag of its bytes', async () => {
    const { row, url, answer, picture } = await look(await flag(700, 70).png().toBuffer())
    assert.equal(url, `/api/storage/1/${row.id}.thumb.webp`)
    const etag = `"${sha256OfBytes(picture!)}"`
    const { headers } = answer!
    assert.deepEqual(
      ['content-type', 'content-length', 'etag', 'accept-ranges'].map((name) => headers.get(name)),
      ['image/webp', String(picture!.length), etag, 'bytes'],
    )
    assert.notEqual(row.sha256, sha256OfBytes(picture!))
    const head = await fetch(server.url + url, { method: 'HEAD' })
    assert.deepEqual([head.status, head.headers.get('etag')], [200, etag])
    const again = await fetch(server.url + url, { headers: { 'If-None-Match': etag } })
    assert.equal(again.status, 304)
    const part = await fetch(server.url + url, { headers: { Range: 'bytes=0-3' } })
    assert.deepEqual([part.status, await part.text()], [206, 'RIFF'])
  })

  test('one of another owner is not found, like one that does not exist', async () => {
    const bytes = await flag(90, 45).png().toBuffer()
    const theirs = await seen(await kept(bytes, null, BOB), BOB)
    const missing = thumbnailStorageKey({ id: 'asset_missing', user_id: '1' })
    const asMine = thumbnailStorageKey({ id: theirs.id, user_id: '1' })
    for (const key of [thumbnailStorageKey(theirs), asMine, missing]) {
      const answer = await fetch(`${server.url}/api/storage/${key}`)
      assert.deepEqual(
        [key, answer.status, ((await answer.json()) as { error: { type: string } }).error.type],
        [key, 404, 'not_found'],
      )
    }
    const { store: assets } = server.context.assets
    assert.ok(assets.find(BOB, thumbnailStorageKey(theirs)))
    const other = { ...BOB, workspace_id: 'w' }
    assert.equal(assets.find(other, thumbnailStorageKey(theirs)), null)
  })

  test('equal content of two users has two thumbnails, and of one user one', async () => {
    const bytes = await flag(80, 30).png().toBuffer()
    const [mine, again] = [await seen(await kept(bytes)), await seen(await kept(bytes))]
    const theirs = await seen(await kept(bytes, null, BOB), BOB)
    assert.equal(again.thumb_key, mine.thumb_key)
    assert.notEqual(theirs.thumb_key, mine.thumb_key)
    assert.deepEqual(readMetadata(again.metadata), readMetadata(mine.metadata))
  })

  test('a signature of its key opens it, and no other key, until it expires or the asset goes', async () => {
    const { row, picture } = await look(await flag(60, 24).png().toBuffer())
    const key = thumbnailStorageKey(row)
    const seconds = Math.floor(Date.now() / 1_000)
    const signed = (of: string, expires = seconds + 3_600) =>
      server.context.assets.store.signatures.signUrl(of, expires)
    /** Sends a request without a credential: Local mode does not trust a page of another site. */
    const read = (url: string, method = 'GET') =>
      fetch(server.url + url, { method, headers: { Origin: 'http://evil.example' } })
    const answer = await read(signed(key))
    assert.deepEqual(new Uint8Array(await answer.arrayBuffer()), picture)
    assert.deepEqual(
      ['content-type', 'content-disposition', 'x-content-type-options'].map((name) => answer.headers.get(name)),
      ['image/webp', `inline; filename="${row.name.replace(/\.\w+$/, '.webp')}"`, 'nosniff'],
    )
    assert.deepEqual([(await read(signed(key), 'HEAD')).status, (await read(signed(key), 'DELETE')).status], [200, 401])
    const queryOf = (url: string) => url.slice(url.indexOf('?'))
    const others = [
      signed(key, seconds),
      signed(key).replace(/.(?=.$)/, (sign) => (sign === 'A' ? 'B' : 'A')),
      `/api/storage/${key}${queryOf(signed(row.storage_key))}`,
      `/api/storage/${row.storage_key}${queryOf(signed(key))}`,
      `/api/storage/${key}`,
    ]
    for (const url of others) assert.equal((await read(url)).status, 401, url)
    const foreign = thumbnailStorageKey({ ...row, user_id: 'bob' })
    assert.equal((await read(signed(foreign))).status, 404)
    await server.context.assets.service.delete(ME, row.id)
    for (const url of [signed(key), signed(row.storage_key)]) assert.equal((await read(url)).status, 404)
  })

  test('one of an asset without a thumbnail is not found, signed or not', async () => {
    const id = await kept(Buffer.from('a text'))
    const key = thumbnailStorageKey({ id, user_id: '1' })
    const signed = server.context.assets.store.signatures.signUrl(key, Math.floor(Date.now() / 1_000) + 60)
    for (const url of [`/api/storage/${key}`, signed]) assert.equal((await fetch(server.url + url)).status, 404)
  })

  test('it goes with its asset', async () => {
    const { row, url } = await look(await flag(50, 22).png().toBuffer())
    await server.context.assets.store.remove(ME, row.storage_key)
    assert.equal((await fetch(server.url + url)).status, 404)
  })

  test('a temporary upload has none', async () => {
    const form = new FormData()
    form.set('file', new Blob([await flag(44, 20).png().toBuffer()]), 'flag.png')
    const answer = await fetch(`${server.url}/api/sdk/v1/assets/temporary`, { method: 'POST', body: form })
    assert.equal(answer.status, 201)
    const { uri } = (await answer.json()) as { uri: string }
    assert.equal((await fetch(server.url + uri)).status, 200)
    assert.equal((await fetch(server.url + uri.replace(/\.\w+$/, '.thumb.webp'))).status, 404)
  })

  test('an asset of a job has one, and a temporary output has none', async () => {
    const noise = { type: 'gaussian', mean: 128, sigma: 60 } as const
    const picture = sharp({ create: { width: 120, height: 120, channels: 3, background: '#000', noise } })
    const params = { in: `data:image/png;base64,${(await picture.png().toBuffer()).toString('base64')}` }
    const graph = {
      nodes: [node('in', 'input.Any', { name: 'in' }), node('out', 'output.Output', { name: 'picture' })],
      edges: [edge('in.output', 'out.value')],
    }
    await using client = await connect(server)
    const made = async (job_id: string, more: Record<string, unknown>) => {
      client.command('run_job', { job_id, graph, params, ...more })
      await client.collect(job_id)
      const { body } = await call<JobSnapshot>(server, 'GET', `/api/jobs/${job_id}`)
      return body.result!.assets[0]!.asset
    }
    const row = await seen((await made('kept', {})).asset_id)
    const answer = await fetch(server.url + thumbnailUrl(row)!)
    const { width, height } = await pixelsOf(new Uint8Array(await answer.arrayBuffer()))
    assert.deepEqual([width, height], [120, 120])
    const rows = () =>
      server.context.store.read((tx) => tx.all({ sql: 'select id from asset', bind: () => [] }, [])).length
    const before = rows()
    const passing = await made('passing', { execution_options: { asset_persistence: 'temporary' } })
    assert.equal(rows(), before)
    assert.equal((await fetch(server.url + passing.uri)).status, 200)
    assert.equal((await fetch(server.url + passing.uri.replace(/\.\w+$/, '.thumb.webp'))).status, 404)
  })
})
