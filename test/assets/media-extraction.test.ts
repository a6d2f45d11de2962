// Tests which parts of output values become references, and that all other parts stay the same objects.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { AssetReference } from '../../generated/types.ts'
import { detectContentType } from '../../src/assets/content-type.ts'
import { cleanFileName } from '../../src/assets/file-name.ts'
import {
  type ExtractedMedia,
  extractMedia,
  extractMediaSteps,
  type ValuePath,
} from '../../src/assets/media-extraction.ts'
import { sha256OfBytes } from '../../src/assets/storage-keys.ts'
import { scaled } from '../helpers/scale.ts'

const LIMIT = 16_384
const PNG = Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), Buffer.alloc(LIMIT, 7)])
const BLOB = Buffer.alloc(LIMIT, 1)

interface Persisted {
  bytes: Uint8Array
  claim: string | null
  path: ValuePath
  name: string | null
}

function referTo(bytes: Uint8Array, claim: string | null): AssetReference {
  const content_type = detectContentType(bytes, claim)
  const digest = sha256OfBytes(bytes)
  const uri = `/api/storage/1/${digest}`
  return {
    asset_id: digest,
    uri,
    name: null,
    content_type,
    size: bytes.length,
    sha256: digest,
    download_url: null,
    expires_at: null,
  }
}

function run(value: unknown): { value: unknown; found: ExtractedMedia[]; persisted: Persisted[] } {
  const persisted: Persisted[] = []
  const result = extractMedia(value, {
    largest_inline: LIMIT,
    persist: (bytes, claim, path, name) => {
      persisted.push({ bytes, claim, path, name })
      return referTo(bytes, claim)
    },
  })
  return { ...result, persisted }
}

function media(type: string, bytes: Uint8Array, claim: string | null = null): object {
  const { asset_id, uri, content_type, size, sha256 } = referTo(bytes, claim)
  return { type, uri, asset_id, content_type, size, sha256 }
}

function dataUrl(type: string, bytes: Uint8Array): string {
  return `data:${type};base64,${Buffer.from(bytes).toString('base64')}`
}

describe('these become references:', () => {
  test('bytes of any size, wherever they lie', () => {
    const small = new Uint8Array([1, 2, 3])
    const value = { a: [1, { b: small }, 'x'], c: PNG }
    const { value: got, found } = run(value)
    assert.deepEqual(got, { a: [1, { b: media('file', small) }, 'x'], c: media('image', PNG) })
    assert.deepEqual(found, [
      { path: ['a', 1, 'b'], asset: referTo(small, null) },
      { path: ['c'], asset: referTo(PNG, null) },
    ])
    assert.deepEqual(value, { a: [1, { b: small }, 'x'], c: PNG })
    assert.deepEqual(run(small).found[0]!.path, [])
    assert.deepEqual(run(new Uint8Array()).value, media('file', new Uint8Array()))
  })

  test('long data URLs', () => {
    const { value, persisted } = run({
      picture: dataUrl('image/png', PNG),
      sound: dataUrl('audio/x-thing;rate=8', BLOB),
    })
    assert.deepEqual(value, { picture: media('image', PNG), sound: media('audio', BLOB, 'audio/x-thing;rate=8') })
    assert.ok(Buffer.from(persisted[1]!.bytes).equals(BLOB))
    assert.equal(persisted[1]!.claim, 'audio/x-thing;rate=8')
    assert.deepEqual(run(dataUrl('', BLOB)).value, media('file', BLOB))
  })

  test('long content of media objects, which keep what else they say', () => {
    const data = BLOB.toString('base64')
    const given = { type: 'audio', data, mimeType: 'audio/x-thing', name: 'song', duration: 3, tags: ['a'] }
    const { value, persisted } = run([given])
    assert.deepEqual(value, [{ name: 'song', duration: 3, tags: ['a'], ...media('audio', BLOB, 'audio/x-thing') }])
    assert.deepEqual([persisted[0]!.claim, persisted[0]!.name, persisted[0]!.path], ['audio/x-thing', 'song', [0]])
    assert.deepEqual(run({ type: 'image', data: dataUrl('image/png', PNG) }).value, media('image', PNG))
    assert.deepEqual(run({ type: 'image', uri: dataUrl('image/png', PNG) }).value, media('image', PNG))
    assert.deepEqual(run({ type: 'video', data: new Uint8Array([1]) }).value, {
      ...media('file', new Uint8Array([1])),
      type: 'video',
    })
    assert.deepEqual(run({ type: 'dataframe', data }).value, { ...media('file', BLOB), type: 'dataframe' })
    const lines = data.replace(/.{76}/g, '$&\r\n')
    assert.deepEqual(run({ type: 'file', data: lines }).value, media('file', BLOB))
    const url = data.replaceAll('+', '-').replaceAll('/', '_')
    assert.deepEqual(run({ type: 'file', data: url }).value, media('file', BLOB))
  })

  test('media inside of a media object', () => {
    const small = new Uint8Array([1])
    const { value, found } = run({ type: 'image', data: PNG, thumb: { bytes: small } })
    assert.deepEqual(value, { ...media('image', PNG), thumb: { bytes: media('file', small) } })
    assert.deepEqual(
      found.map(({ path }) => path),
      [[], ['thumb', 'bytes']],
    )
  })
})

describe('these stay inline:', () => {
  const text = 'word '.repeat(LIMIT)
  const stays: Record<string, unknown> = {
    'ordinary text of any size': text,
    'large JSON': { rows: Array.from({ length: 5_000 }, (_, i) => ({ i, text: 'x'.repeat(50) })) },
    'a short data URL': dataUrl('image/png', PNG.subarray(0, 9_000)),
    'a data URL that is no base64': `data:text/plain,${text}`,
    'a data URL of broken base64': `data:image/png;base64,${'%'.repeat(LIMIT)}`,
    'a data URL of cut base64': `${dataUrl('image/png', PNG)}=`,
    'text that speaks of data': `data: ${text};base64,${text}`,
    'a media object with short content': { type: 'image', data: 'AAAA' },
    'a media object with text': { type: 'document', data: text },
    'a reference': { type: 'image', uri: '/api/storage/1/asset_01.png' },
    'an object of another type': { type: 'person', data: BLOB.toString('base64') },
    scalars: [1, true, null, '', undefined],
  }
  for (const [what, value] of Object.entries(stays)) {
    test(what, () => {
      const { value: got, found } = run(value)
      assert.equal(got, value)
      assert.deepEqual(found, [])
    })
  }

  test('each part without media, even beside some', () => {
    const still = { deep: [{ x: text }] }
    const { value } = run({ still, bytes: BLOB })
    assert.equal((value as { still: unknown }).still, still)
  })

  test('a member that is named __proto__', () => {
    const value = JSON.parse('{"__proto__": {"x": 1}, "y": null}') as Record<string, unknown>
    Object.defineProperty(value, '__proto__', { value: { x: BLOB }, enumerable: true })
    const { value: got } = run({ value })
    const copy = (got as { value: object }).value
    assert.deepEqual(Object.keys(copy), ['__proto__', 'y'])
    assert.equal(Object.getPrototypeOf(copy), Object.prototype)
    assert.equal(JSON.stringify(copy), JSON.stringify({ ['__proto__']: { x: media('file', BLOB) }, y: null }))
  })
})

test('every listed path leads to its reference, and no bytes are left', () => {
  const leaf = fc.oneof(
    fc.uint8Array({ maxLength: 8 }),
    fc.constant(dataUrl('image/png', PNG)),
    fc.string(),
    fc.integer(),
  )
  const values = fc.letrec((tie) => ({
    value: fc.oneof({ maxDepth: 4 }, leaf, fc.array(tie('value')), fc.dictionary(fc.string(), tie('value'))),
  })).value
  fc.assert(
    fc.property(values, (value) => {
      const { value: got, found, persisted } = run(value)
      assert.equal(found.length, persisted.length)
      for (const { path, asset } of found) {
        const place = path.reduce((at: unknown, key) => (at as Record<string | number, unknown>)[key], got)
        assert.equal((place as { asset_id: string }).asset_id, asset.asset_id)
      }
      if (found.length === 0) assert.equal(got, value)
      assert.deepEqual(run(got).found, [])
    }),
    { numRuns: scaled(200) },
  )
})

describe('in steps', () => {
  /** The most files that one step stores, and ids that it looks up. */
  function most(value: unknown): { kept: number; asked: number; value: unknown } {
    let [kept, asked] = [0, 0]
    const seen = { kept: 0, asked: 0 }
    const steps = extractMediaSteps(value, {
      largest_inline: LIMIT,
      persist: (bytes, claim) => {
        kept++
        return referTo(bytes, claim)
      },
      known: () => {
        asked++
        return null
      },
    })
    for (;;) {
      const step = steps.next()
      seen.kept = Math.max(seen.kept, kept)
      seen.asked = Math.max(seen.asked, asked)
      kept = 0
      asked = 0
      if (step.done) return { ...seen, value: step.value.value }
    }
  }

  test('each file is stored in a step of its own, however small it is and wherever it lies', () => {
    const files = Array.from({ length: 100 }, (_, at) => new Uint8Array([at]))
    const texts = files.map(() => dataUrl('image/png', PNG))
    for (const value of [
      files,
      [files],
      { a: files },
      { type: 'file', list: files },
      { type: 'image', data: BLOB, texts },
    ]) {
      const stepped = most(value)
      assert.equal(stepped.kept, 1)
      assert.deepEqual(stepped.value, run(value).value)
    }
  })

  test('few ids are looked up at once, in media as elsewhere', () => {
    const list = Array.from({ length: 10_000 }, () => ({ asset_id: 'a', uri: 'b' }))
    assert.ok(most({ type: 'file', list }).asked < 2_000)
  })
})

test('a claimed name is cut before it is cleaned', () => {
  const began = process.cpuUsage().user
  assert.equal(cleanFileName(`a/b${'\u007f'.repeat(4)}c${'d\u007f'.repeat(4_000_000)}`).slice(0, 8), 'b cd d d')
  assert.equal(cleanFileName('/'.repeat(8_000_000)), '')
  assert.ok(process.cpuUsage().user - began < 400_000)
})
