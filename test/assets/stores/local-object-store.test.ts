// Tests objects as files: each is complete or absent, lies within its folder, and is gone after its removal.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { once } from 'node:events'
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  truncateSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { sha256OfBytes } from '../../../src/assets/storage-keys.ts'
import { BufferedFileWriter } from '../../../src/assets/stores/buffered-file-writer.ts'
import { BufferPool, CHUNK_BYTES, FileReadStream } from '../../../src/assets/stores/file-read-stream.ts'
import { LocalObjectStore } from '../../../src/assets/stores/local-object-store.ts'
import { StartError } from '../../../src/start-error.ts'
import { scaled } from '../../helpers/scale.ts'
import { temporaryFolder } from '../../helpers/server.ts'
import { bytesOf, filesOf, textOf } from '../kit.ts'

const NOW = 1_767_225_600_000

async function inStore(run: (store: LocalObjectStore, root: string) => Promise<void>): Promise<void> {
  const root = temporaryFolder()
  try {
    await run(new LocalObjectStore(root, () => NOW), root)
  } finally {
    rmSync(root, { recursive: true, force: true })
  }
}

async function* chunks(...texts: string[]): AsyncGenerator<Uint8Array> {
  for (const text of texts) yield bytesOf(text)
}

async function* broken(): AsyncGenerator<Uint8Array> {
  yield bytesOf('half of it')
  throw new Error('the line was cut')
}

describe('put', () => {
  test('stores bytes and streams, and returns their digest', () =>
    inStore(async (store, root) => {
      const expected = { size: 11, sha256: sha256OfBytes(bytesOf('Hello, Ada!')) }
      assert.deepEqual(await store.put('a/b', bytesOf('Hello, Ada!')), expected)
      assert.deepEqual(await store.put('c', chunks('Hello', '', ', Ada!')), expected)
      assert.equal(readFileSync(join(root, 'objects', 'a', 'b'), 'utf8'), 'Hello, Ada!')
      assert.equal(await textOf(await store.get('c', { start: 0, length: 11 })), 'Hello, Ada!')
      assert.deepEqual(await store.stat('c'), { size: 11, put_at: NOW })
      assert.deepEqual(filesOf(join(root, 'incoming')), [])
    }))

  test('replaces the present object, while its readers go on', () =>
    inStore(async (store) => {
      await store.put('k', bytesOf('old'))
      const reader = await store.get('k', { start: 0, length: 3 })
      await store.put('k', bytesOf('newer'))
      assert.equal(await textOf(reader), 'old')
      assert.equal(await textOf(await store.get('k', { start: 0, length: 5 })), 'newer')
    }))

  test('stores nothing of a stream that fails, and keeps the present object', () =>
    inStore(async (store, root) => {
      await assert.rejects(store.put('new', broken()), /the line was cut/)
      await store.put('old', bytesOf('old'))
      await assert.rejects(store.put('old', broken()), /the line was cut/)
      assert.equal(await store.stat('new'), null)
      assert.equal(await textOf(await store.get('old', { start: 0, length: 3 })), 'old')
      assert.deepEqual(filesOf(root), ['old'])
    }))

  test('leaves no bytes if the name cannot be used', () =>
    inStore(async (store, root) => {
      await store.put('a', bytesOf('a file'))
      await assert.rejects(store.put('a/b', bytesOf('below a file')))
      assert.throws(() => store.putSync('a/b', bytesOf('below a file')))
      await store.put('f/x', bytesOf('x'))
      await assert.rejects(store.put('f', bytesOf('in the place of a folder')))
      assert.throws(() => store.putSync('f', bytesOf('in the place of a folder')))
      assert.deepEqual(filesOf(root), ['a', 'x'])
    }))

  test('of two writers, one wins whole', () =>
    inStore(async (store) => {
      const texts = Array.from({ length: 8 }, (_, i) => String(i).repeat(50_000))
      await Promise.all(texts.map((text) => store.put('k', chunks(text, text))))
      const kept = await textOf(await store.get('k', { start: 0, length: 100_000 }))
      assert.ok(texts.some((text) => kept === text + text))
    }))
})

describe('putSync', () => {
  test('stores bytes, and only updates their time if they are stored already', () =>
    inStore(async (store, root) => {
      store.putSync('a/b/c', bytesOf('abc'))
      const path = join(root, 'objects', 'a', 'b', 'c')
      // Content never changes under its key. A second write would remove this change.
      writeFileSync(path, 'xyz')
      utimesSync(path, 1, 1)
      store.putSync('a/b/c', bytesOf('abc'))
      assert.deepEqual(await store.stat('a/b/c'), { size: 3, put_at: NOW })
      assert.equal(readFileSync(path, 'utf8'), 'xyz')
      assert.deepEqual(filesOf(root), ['c'])
    }))

  test('replaces an incomplete object', () =>
    inStore(async (store, root) => {
      store.putSync('k', bytesOf('abc'))
      truncateSync(join(root, 'objects', 'k'), 1)
      store.putSync('k', bytesOf('abc'))
      assert.equal(await textOf(await store.get('k', { start: 0, length: 3 })), 'abc')
    }))
})

describe('get', () => {
  test('returns the requested bytes', () =>
    inStore(async (store) => {
      const content = new Uint8Array(300_000).map((_, i) => i % 251)
      await store.put('k', content)
      await fc.assert(
        fc.asyncProperty(fc.nat(300_000), fc.nat(300_000), async (start, more) => {
          const length = Math.min(more, 300_000 - start)
          const stream = await store.get('k', { start, length })
          const got: Buffer[] = []
          for await (const chunk of stream!) got.push(chunk as Buffer)
          assert.ok(Buffer.concat(got).equals(content.subarray(start, start + length)))
        }),
        { numRuns: scaled(50) },
      )
    }))

  test('returns null for a missing key, a key through a file and a folder', () =>
    inStore(async (store) => {
      await store.put('a/b', bytesOf('x'))
      const range = { start: 0, length: 1 }
      for (const key of ['x', 'a/c', 'a/b/c']) assert.equal(await store.get(key, range), null, key)
      for (const key of ['x', 'a/c', 'a/b/c', 'a']) assert.equal(await store.stat(key), null, key)
      for (const key of ['x', 'a/b/c', 'a']) assert.equal(await store.delete(key), false, key)
    }))

  test('never returns fewer bytes than requested', () =>
    inStore(async (store) => {
      await store.put('k', bytesOf('abc'))
      await assert.rejects(store.get('k', { start: 1, length: 3 }), /the object k has 3 bytes, too few for 3 from 1/)
      await store.put('empty', new Uint8Array())
      assert.equal(await textOf(await store.get('empty', { start: 0, length: 0 })), '')
    }))

  test('follows no link', () =>
    inStore(async (store, root) => {
      writeFileSync(join(root, 'secret'), 'secret')
      symlinkSync(join(root, 'secret'), join(root, 'objects', 'link'))
      assert.equal(await store.get('link', { start: 0, length: 6 }), null)
      assert.equal(await store.stat('link'), null)
      assert.equal(await store.delete('link'), false)
      assert.deepEqual(await store.list(null, 10), [])
    }))

  test('follows no link in the place of a folder, and neither do put and delete', () =>
    inStore(async (store, root) => {
      const elsewhere = join(root, 'elsewhere')
      mkdirSync(join(elsewhere, 'b'), { recursive: true })
      writeFileSync(join(elsewhere, 'b', 'secret'), 'secret')
      symlinkSync(elsewhere, join(root, 'objects', 'a'))
      for (const key of ['a/b/secret', 'a/b/new', 'a/c/d']) {
        assert.equal(await store.get(key, { start: 0, length: 3 }), null, key)
        assert.equal(await store.stat(key), null, key)
        assert.equal(await store.openHandle(key), null, key)
        assert.equal(store.lastPutAt(key), null, key)
        assert.equal(await store.delete(key), false, key)
        await assert.rejects(store.put(key, bytesOf('x')), /a folder of the object .* is a link/, key)
        assert.throws(() => store.putSync(key, bytesOf('x')), /is a link/, key)
        using received = await store.receive(bytesOf('x'))
        assert.throws(() => received.commit(key), /is a link/, key)
      }
      assert.deepEqual(filesOf(elsewhere), ['secret'])
      assert.deepEqual(filesOf(join(root, 'incoming')), [])
    }))

  test('does not wait for a pipe', { skip: process.platform === 'win32' }, () =>
    inStore(async (store, root) => {
      execFileSync('mkfifo', [join(root, 'objects', 'pipe')])
      assert.equal(await store.get('pipe', { start: 0, length: 1 }), null)
      assert.equal(await store.stat('pipe'), null)
    }),
  )
})

describe('delete', () => {
  test('removes at once, while readers go on', () =>
    inStore(async (store, root) => {
      await store.put('k', bytesOf('abc'))
      const reader = await store.get('k', { start: 0, length: 3 })
      const deleted = store.delete('k')
      assert.deepEqual(await store.list(null, 10), [])
      assert.equal(await deleted, true)
      assert.equal(await textOf(reader), 'abc')
      assert.deepEqual(filesOf(root), [])
    }))

  test('keeps an object that was put since', () =>
    inStore(async (store) => {
      await store.put('k', bytesOf('abc'))
      assert.equal(await store.delete('k', NOW), false)
      assert.equal(await store.delete('k', NOW - 1), false)
      assert.equal(await store.delete('k', NOW + 1), true)
    }))
})

describe('list', () => {
  test('returns every key once, page by page', () =>
    inStore(async (store) => {
      const keys = ['a', 'b/a', 'b/b', 'b/c/d', 'b-', 'c', 'd/e/f/g', 'd/e/f/h', 'z']
      for (const key of keys) await store.put(key, bytesOf(key))
      for (const limit of [1, 2, 3, 100]) {
        const found: string[] = []
        for (let page = await store.list(null, limit); page.length > 0; page = await store.list(page.at(-1)!, limit)) {
          assert.ok(page.length <= limit)
          found.push(...page)
        }
        assert.deepEqual([...found].sort(), [...keys].sort())
      }
      assert.deepEqual(await store.list(null, 0), [])
    }))

  test('continues after a deleted key', () =>
    inStore(async (store) => {
      for (const key of ['a/a', 'a/b', 'b/a']) await store.put(key, bytesOf(key))
      await store.delete('a/a')
      assert.deepEqual(await store.list('a/a', 10), ['a/b', 'b/a'])
    }))
})

test('every method refuses an invalid key', () =>
  inStore(async (store, root) => {
    for (const key of ['', '../x', '/etc/passwd', 'a/../../x', 'a\0', 'a\\..\\b', 'a//b']) {
      await assert.rejects(store.put(key, bytesOf('x')), TypeError, key)
      assert.throws(() => store.putSync(key, bytesOf('x')), TypeError, key)
      await assert.rejects(store.get(key, { start: 0, length: 1 }), TypeError, key)
      await assert.rejects(store.stat(key), TypeError, key)
      await assert.rejects(store.delete(key), TypeError, key)
    }
    assert.deepEqual(filesOf(root), [])
  }))

describe('folders', () => {
  test('are removed with their last object, and created again for the next one', () =>
    inStore(async (store, root) => {
      const folders = () => readdirSync(join(root, 'objects'), { recursive: true }).sort()
      await store.put('a/b/c', bytesOf('x'))
      await store.put('a/d', bytesOf('x'))
      await store.delete('a/b/c')
      assert.deepEqual(folders(), ['a', join('a', 'd')])
      await store.delete('a/d')
      assert.deepEqual(folders(), [])
      store.putSync('a/b/c', bytesOf('y'))
      assert.equal(await textOf(await store.get('a/b/c', { start: 0, length: 1 })), 'y')
    }))

  test('that are removed or filled during a listing cause no error', () =>
    inStore(async (store) => {
      const stays = Array.from({ length: 20 }, (_, at) => `${at}/stays`)
      for (const key of stays) await store.put(key, bytesOf('x'))
      const passing = Array.from({ length: 40 }, (_, at) => `${at % 20}/${at}/passes/by`)
      let going = true
      const coming = async (keys: readonly string[]) => {
        while (going) {
          for (const key of keys) await store.put(key, bytesOf('x'))
          for (const key of keys) await store.delete(key)
        }
      }
      const others = [coming(passing.slice(0, 20)), coming(passing.slice(20))]
      for (let round = 0; round < scaled(40); round += 1) {
        const keys = await store.list(null, 1_000)
        for (const key of stays) assert.ok(keys.includes(key), key)
      }
      going = false
      await Promise.all(others)
      assert.deepEqual((await store.list(null, 1_000)).sort(), stays.sort())
    }))
})

describe('a start', () => {
  test('removes the unfinished files of a dead process, and no others', () =>
    inStore(async (store, root) => {
      await store.put('k', bytesOf('abc'))
      writeFileSync(join(root, 'incoming', 'half'), 'half')
      new LocalObjectStore(root, () => NOW)
      assert.deepEqual(filesOf(root), ['k'])
    }))

  test('says in one line that the folder cannot be used', () =>
    inStore(async (_store, root) => {
      writeFileSync(join(root, 'file'), '')
      mkdirSync(join(root, 'folder'))
      for (const path of [join(root, 'file', 'storage'), join(root, 'folder', 'missing', 'storage')]) {
        assert.throws(
          () => new LocalObjectStore(path, () => NOW),
          (error) =>
            error instanceof StartError && /cannot be used \(E[A-Z]+\); check its owner and mode$/.test(error.message),
        )
      }
    }))
})

/** A file whose writes take at most `most` bytes each. */
function scanty(file: FileHandle, most: number): FileHandle {
  const writev = async (pieces: readonly Uint8Array[]) => {
    const bytes = Buffer.concat(pieces).subarray(0, most)
    return { bytesWritten: (await file.write(bytes)).bytesWritten, buffers: pieces }
  }
  return new Proxy(file, { get: (target, name) => (name === 'writev' ? writev : Reflect.get(target, name)) })
}

async function inFile(run: (file: FileHandle, path: string) => Promise<void>): Promise<void> {
  const folder = temporaryFolder()
  const path = join(folder, 'file')
  const file = await open(path, 'w+')
  try {
    await run(file, path)
  } finally {
    await file.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

describe('gathered writes', () => {
  test('keep pieces of any sizes in their order, also where the system takes a part of them at a time', () =>
    inFile(async (file, path) => {
      const sizes = [0, 1, 300_000, 5, 0, 262_144, 7, ...Array.from({ length: 1_200 }, (_, at) => at % 50), 100_000]
      const pieces = sizes.map((size, at) => Buffer.alloc(size, at))
      const spare = new BufferPool(2)
      for (const handle of [file, scanty(file, 70_001)]) {
        await file.truncate()
        const writes = new BufferedFileWriter(handle, spare)
        // The writer has copied the bytes, so the caller may overwrite them.
        for (const piece of pieces.map((one) => Buffer.from(one))) {
          await writes.add(piece)
          piece.fill(255)
        }
        await writes.end()
        const written = readFileSync(path)
        assert.equal(
          sha256OfBytes(written.subarray(-Buffer.concat(pieces).length)),
          sha256OfBytes(Buffer.concat(pieces)),
        )
      }
    }))

  test('report the error of an earlier piece', () =>
    inFile(async (_, path) => {
      const file = await open(path, 'r')
      try {
        const writes = new BufferedFileWriter(file, new BufferPool(1))
        await writes.add(Buffer.alloc(2 * CHUNK_BYTES))
        await assert.rejects(writes.add(Buffer.alloc(2 * CHUNK_BYTES)), { code: 'EBADF' })
        const others = new BufferedFileWriter(file, new BufferPool(1))
        await others.add(Buffer.alloc(10))
        await assert.rejects(others.end(), { code: 'EBADF' })
      } finally {
        await file.close()
      }
    }))
})

describe('pieces of a file', () => {
  const SIZE = 3 * CHUNK_BYTES + 17
  const content = Buffer.from(Array.from({ length: SIZE }, (_, at) => (at * 31 + (at >> 8)) & 255))

  test('are read into released memory, and into no other', () =>
    inFile(async (_, path) => {
      writeFileSync(path, content)
      const spare = new BufferPool(2)
      const read = async (release: boolean) => {
        const stream = new FileReadStream(await open(path), { start: 0, length: SIZE }, spare)
        const memory = new Set<ArrayBufferLike>()
        let at = 0
        for await (const piece of stream as AsyncIterable<Buffer>) {
          assert.ok(piece.equals(content.subarray(at, at + piece.length)))
          at += piece.length
          memory.add(piece.buffer)
          if (!release) continue
          stream.release(piece)
          // The stream ignores a piece that was released already, and a part of a piece.
          for (const stray of [piece, piece.subarray(1), Buffer.alloc(CHUNK_BYTES)]) stream.release(stray)
        }
        assert.equal(at, SIZE)
        return memory
      }
      const first = await read(true)
      assert.ok(first.size < 4, `${first.size} pieces of memory for four`)
      const second = await read(false)
      assert.equal(second.size, 4)
      assert.ok([...second].some((memory) => first.has(memory)))
      const third = await read(true)
      assert.ok([...third].every((memory) => !second.has(memory)))
    }))

  test('are those of the part that is asked for', () =>
    inFile(async (_, path) => {
      writeFileSync(path, content)
      for (const [start, length] of [
        [5, 10],
        [CHUNK_BYTES - 1, 2],
        [1, CHUNK_BYTES],
        [17, 3 * CHUNK_BYTES],
        [SIZE - 1, 1],
      ] as const) {
        const stream = new FileReadStream(await open(path), { start, length }, new BufferPool(1))
        assert.ok(Buffer.concat(await stream.toArray()).equals(content.subarray(start, start + length)))
      }
    }))

  test('fail if the file ends early, and close it', () =>
    inFile(async (_, path) => {
      writeFileSync(path, content)
      const file = await open(path)
      const stream = new FileReadStream(file, { start: 0, length: SIZE + 1 }, new BufferPool(1))
      await assert.rejects(stream.toArray(), /a file ends at 393233, and 1 more bytes were expected/)
      assert.equal(file.fd, -1)
    }))

  test('are not read on after the reader leaves, and the file is closed', () =>
    inFile(async (_, path) => {
      writeFileSync(path, content)
      const file = await open(path)
      const stream = new FileReadStream(file, { start: 0, length: SIZE }, new BufferPool(1))
      await once(stream, 'readable')
      stream.destroy()
      await once(stream, 'close')
      assert.equal(file.fd, -1)
    }))
})
