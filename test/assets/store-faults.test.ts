// Tests faults between a server and its bucket: no object is lost, no removed object comes back, and no incomplete object is read.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import fc from 'fast-check'
import { Bucket } from '../../src/assets/stores/s3/bucket.ts'
import { SpooledBucketStore, type SpoolOptions } from '../../src/assets/stores/spooled-bucket-store.ts'
import { listTemporaryFiles, temporaryObjectKey } from '../../src/assets/temporary/keys.ts'
import type { BucketSettings } from '../../src/config/storage.ts'
import { ServiceError } from '../../src/errors.ts'
import { StartError } from '../../src/start-error.ts'
import { type KeptLog, keptLog } from '../helpers/kept-log.ts'
import { withMoreTime } from '../helpers/patience.ts'
import { scaled } from '../helpers/scale.ts'
import { startServer, temporaryFolder, until } from '../helpers/server.ts'
import { BUCKET, type BucketServer, CREDENTIALS, type Fault, type Passing, startBucketServer } from './bucket-server.ts'
import { bytesOf, filesOf, textOf } from './kit.ts'

const MIB = 1024 * 1024
const NOW = 1_767_225_600_000
const CUTS: Fault[] = [{ cut_request_at: 1 }, { cut_request_at: 70_000 }, { lose_answer: true }]

let server: BucketServer
let root: string
let folder = 0
let logged: KeptLog
const opened = new Set<SpooledBucketStore>()

before(async () => {
  server = await startBucketServer()
})
after(() => server[Symbol.asyncDispose]())
beforeEach(() => {
  root = temporaryFolder()
  folder += 1
  logged = keptLog()
})
afterEach(async () => {
  server.fault = () => null
  server.uploads_per_page = 1_000
  for (const store of opened) await store[Symbol.asyncDispose]()
  opened.clear()
  rmSync(root, { recursive: true })
})

async function openStore(more: Partial<SpoolOptions> = {}, settings: BucketSettings = server.settings, at = root) {
  const times = { retry_ms: 2, pause_ms: 1, close_ms: 50, ...more.times }
  const sizes = { whole_bytes: 6 * MIB, part_bytes: 5 * MIB }
  const options = { folder: nameOfFolder(), owner: 'db_1', now: () => NOW, log: logged.log, sizes, ...more, times }
  const store = await SpooledBucketStore.open(at, settings, options)
  opened.add(store)
  return store
}

async function close(store: SpooledBucketStore): Promise<void> {
  opened.delete(store)
  await store[Symbol.asyncDispose]()
}

/** Returns the files of a user that are counted, in the order of the keys, and the error at the end. */
async function counted(store: SpooledBucketStore): Promise<[string[], string | null]> {
  const keys: string[] = []
  try {
    for await (const { key } of listTemporaryFiles(store, 'ada')) keys.push(key)
    return [keys.sort(), null]
  } catch (error) {
    assert.ok(error instanceof ServiceError)
    return [keys.sort(), error.code]
  }
}

function nameOfFolder(): string {
  return `faults-${folder}`
}

/** Messages of a level, as pino counts them. */
function told(level: number): string[] {
  const entries = logged.lines.map((line) => JSON.parse(line) as { level: number; msg: string })
  return entries.filter((entry) => entry.level === level).map(({ msg }) => msg)
}

function settled(store: SpooledBucketStore): Promise<unknown> {
  return until('nothing to be under way', () => store.pending === 0)
}

/** Empties the spool, so that reads come from the bucket. */
async function movedAway(store: SpooledBucketStore): Promise<void> {
  await settled(store)
  assert.deepEqual(filesOf(join(root, 'objects')), [])
  assert.deepEqual(filesOf(join(root, 'incoming')), [])
  assert.deepEqual(filesOf(join(root, 'removals')), [])
}

async function readWhole(store: SpooledBucketStore, key: string, length: number): Promise<Buffer | null> {
  const stream = await store.get(key, { start: 0, length })
  if (stream === null) return null
  const chunks: Uint8Array[] = []
  for await (const chunk of stream) chunks.push(chunk as Uint8Array)
  return Buffer.concat(chunks)
}

/** Applies each of `faults` once, to the next requests that match `fits`. */
function inTurn(faults: readonly Fault[], fits: (passing: Passing) => boolean): { left: Fault[] } {
  const turn = { left: [...faults] }
  server.fault = (passing) => (fits(passing) ? (turn.left.shift() ?? null) : null)
  return turn
}

const isPut = ({ method }: Passing) => method === 'PUT'
const isGet = ({ method, name }: Passing) => method === 'GET' && name !== ''
const unavailable = (error: unknown) => error instanceof ServiceError && error.code === 'SERVICE_UNAVAILABLE'
const pattern = (length: number, seed = 31) => new Uint8Array(length).map((_, i) => (i * seed) % 251)

describe('an upload', () => {
  const faults: [string, Fault[]][] = [
    ['a storage that is in trouble', [500, 502, 503].map((status) => ({ answer: { status, code: 'InternalError' } }))],
    [
      'a storage that wants less',
      [{ answer: { status: 503, code: 'SlowDown' } }, { answer: { status: 429, code: 'x' } }],
    ],
    ['a line that is cut', CUTS],
    ['a byte that changes on the way, which the storage refuses', [{ corrupt_request: 'seen' }]],
    [
      'a byte that changes on the way, which the storage takes',
      [{ corrupt_request: 'unseen' }, { corrupt_request: 'unseen' }],
    ],
    ['credentials that are refused for a while', [{ answer: { status: 403, code: 'ExpiredToken' } }]],
  ]
  for (const [what, list] of faults) {
    test(`outlives ${what}`, async () => {
      const store = await openStore()
      const turn = inTurn(list, isPut)
      const bytes = pattern(200_000)
      await store.put('k', bytes)
      while (turn.left.length > 0 || store.pending > 0) {
        // A read meanwhile gets the right bytes.
        assert.ok((await readWhole(store, 'k', bytes.length))?.equals(bytes))
        await new Promise((resolve) => setTimeout(resolve, 2))
      }
      await movedAway(store)
      assert.ok((await readWhole(store, 'k', bytes.length))?.equals(bytes))
    })
  }

  test('counts only once the storage reports the right object', async () => {
    const store = await openStore()
    const isHead = ({ method }: Passing) => method === 'HEAD'
    const turn = inTurn(
      [{ answer: { status: 404, code: 'x' } }, { lose_answer: true }, { lose_answer: true }, { lose_answer: true }],
      isHead,
    )
    await store.put('k', bytesOf('kept'))
    await until('the faults to be over', () => turn.left.length === 0)
    await movedAway(store)
    assert.equal(await textOf(await store.get('k', { start: 0, length: 4 })), 'kept')
  })

  test('of a large object continues part by part, and leaves no part behind', async () => {
    const store = await openStore()
    const bytes = pattern(11 * MIB + 5)
    const isPart = ({ query }: Passing) => query.has('partNumber')
    const turn = inTurn(
      [{ answer: { status: 500, code: 'x' } }, { cut_request_at: MIB }, { corrupt_request: 'seen' }],
      isPart,
    )
    await store.put('large', bytes)
    await until('the faults to be over', () => turn.left.length === 0)
    await movedAway(store)
    assert.equal(server.open_uploads.size, 0)
    const begun = server.passed.filter(({ query, name }) => query.has('uploads') && name.includes(nameOfFolder()))
    assert.equal(begun.length, 1)
    assert.ok((await readWhole(store, 'large', bytes.length))?.equals(bytes))
  })

  test('of a large object starts again if it fails as a whole, and frees its parts', async () => {
    const store = await openStore()
    const bytes = pattern(6 * MIB + 1)
    const isComplete = ({ method, query }: Passing) => method === 'POST' && query.has('uploadId')
    const turn = inTurn([{ answer: { status: 500, code: 'x' } }, { lose_answer: true }], isComplete)
    await store.put('large', bytes)
    await until('the faults to be over', () => turn.left.length === 0)
    await movedAway(store)
    assert.equal(server.open_uploads.size, 0)
    assert.ok((await readWhole(store, 'large', bytes.length))?.equals(bytes))
  })

  test('that a dead process began in parts is aborted at the next start', async () => {
    const isComplete = ({ method, query }: Passing) => method === 'POST' && query.has('uploadId')
    server.fault = (passing) => (isComplete(passing) ? { never: true } : null)
    const store = await openStore()
    await store.put('large', pattern(6 * MIB + 1))
    await until('its parts to be there', () =>
      server.passed.some((p) => isComplete(p) && p.name.includes(nameOfFolder())),
    )
    server.fault = ({ method }) => (method === 'DELETE' ? { answer: { status: 500, code: 'x' } } : null)
    await close(store)
    assert.equal(server.open_uploads.size, 1)
    server.fault = () => null
    const next = await openStore()
    // A start does not wait for the aborts, since there may be many.
    await until('it to be aborted', () => server.open_uploads.size === 0)
    await movedAway(next)
    assert.equal((await next.stat('large'))?.size, 6 * MIB + 1)
  })

  test('that dead processes began in parts is aborted, also where there are more than a page of them', async () => {
    const bucket = new Bucket(server.settings, nameOfFolder())
    const begin = async (name: string) => {
      const answer = await bucket.requestText({
        method: 'POST',
        key: bucket.nameOf(name),
        query: { uploads: '' },
        signal: bucket.closing,
      })
      assert.match(answer, /<UploadId>/)
    }
    // Two pages end within the uploads of one name.
    for (const name of ['a', 'b', 'b', 'b', 'c']) await begin(name)
    bucket.close()
    assert.equal(server.open_uploads.size, 5)
    server.uploads_per_page = 2
    await openStore()
    await until('all of them to be aborted', () => server.open_uploads.size === 0)
    const isList = ({ method, name, query }: Passing) => method === 'GET' && name === '' && query.has('uploads')
    const pages = server.passed.filter((p) => isList(p) && p.query.get('prefix')?.includes(nameOfFolder()))
    assert.equal(pages.length, 3)
  })

  test('does not prevent a start if the list of unfinished uploads never ends', async () => {
    const bucket = new Bucket(server.settings, nameOfFolder())
    server.uploads_per_page = 1
    let told = 0
    server.fault = ({ method, query }) => {
      if (method === 'GET' && query.has('uploads'))
        server.open_uploads.set(`id${++told}`, bucket.nameOf(String(told).padStart(9, '0')))
      return null
    }
    server.open_uploads.set('id', bucket.nameOf('0'))
    const found = await bucket.listUploads()
    bucket.close()
    server.open_uploads.clear()
    assert.equal(found.length, 1_000)
  })

  test('that is unfinished and cannot be aborted prevents neither a start nor a close', async () => {
    const bucket = new Bucket(server.settings, nameOfFolder())
    const [key, query] = [bucket.nameOf('a'), { uploads: '' }]
    await bucket.requestText({ method: 'POST', key, query, signal: bucket.closing })
    bucket.close()
    server.fault = ({ method }) => (method === 'DELETE' ? { never: true } : null)
    await close(await openStore())
    server.fault = () => null
    const isAborted = () => server.open_uploads.size === 0
    assert.equal(isAborted(), false)
    await openStore()
    await until('it to be aborted', isAborted)
  })

  test('that fails for one object does not hold up the others', async () => {
    const store = await openStore()
    server.fault = ({ method, name }) =>
      method === 'PUT' && name.endsWith('bad') ? { answer: { status: 400, code: 'EntityTooLarge' } } : null
    for (const key of ['bad', 'k/1', 'k/2', 'k/3', 'k/4', 'k/5']) await store.put(key, bytesOf(key))
    await until('the others to be there', () => filesOf(join(root, 'objects')).join() === 'bad')
    assert.equal(await textOf(await store.get('bad', { start: 0, length: 3 })), 'bad')
    assert.equal(told(50).length, 1)
    server.fault = () => null
    await movedAway(store)
  })
})

describe('a read', () => {
  test('resumes after each interruption, as long as it makes progress', async () => {
    const store = await openStore()
    const bytes = pattern(700_000)
    await store.put('k', bytes)
    await movedAway(store)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.integer({ min: 1, max: 200_000 }), { maxLength: 6 }),
        fc.nat(300_000),
        async (cuts, start) => {
          inTurn(
            cuts.map((cut_answer_at) => ({ cut_answer_at })),
            isGet,
          )
          const stream = await store.get('k', { start, length: bytes.length - start })
          const chunks: Uint8Array[] = []
          for await (const chunk of stream!) chunks.push(chunk as Uint8Array)
          assert.ok(Buffer.concat(chunks).equals(bytes.subarray(start)))
        },
      ),
      { numRuns: scaled(10) },
    )
  })

  test('ends with an error if no more bytes come, never early', async () => {
    const store = await openStore()
    const bytes = pattern(300_000)
    await store.put('k', bytes)
    await movedAway(store)
    const faults: ((request: number) => Fault)[] = [
      (request) => (request === 1 ? { cut_answer_at: 100_000 } : { cut_answer_at: 0 }),
      (request) => (request === 1 ? { cut_answer_at: 100_000 } : { answer: { status: 404, code: 'NoSuchKey' } }),
      (request) => (request === 1 ? { cut_answer_at: 100_000 } : { answer: { status: 503, code: 'SlowDown' } }),
    ]
    for (const fault of faults) {
      let requests = 0
      server.fault = (passing) => {
        if (isGet(passing)) requests += 1
        return isGet(passing) ? fault(requests) : null
      }
      const stream = await store.get('k', { start: 0, length: bytes.length })
      let length = 0
      await assert.rejects(async () => {
        for await (const chunk of stream!) length += (chunk as Uint8Array).length
      })
      assert.ok(length < bytes.length)
    }
  })

  test('of a whole object gives the last bytes only if the digest is right', async () => {
    const store = await openStore()
    const bytes = pattern(300_000)
    await store.put('k', bytes)
    await movedAway(store)
    server.fault = (passing) => (isGet(passing) ? { corrupt_answer: true } : null)
    let length = 0
    await assert.rejects(async () => {
      for await (const chunk of (await store.get('k', { start: 0, length: bytes.length }))!)
        length += (chunk as Uint8Array).length
    }, /the bytes of the object k are not those that were put/)
    assert.ok(length < bytes.length)
  })

  test('does not mix an object with another that took its place', async () => {
    const store = await openStore()
    await store.put('k', pattern(300_000))
    await movedAway(store)
    inTurn([{ cut_answer_at: 100_000 }], isGet)
    const stream = await store.get('k', { start: 0, length: 300_000 })
    await server.put(`p/${nameOfFolder()}/k`, pattern(300_000, 7))
    await assert.rejects(async () => {
      for await (const _chunk of stream!);
    }, /412/)
    // The replacement is shorter or longer than the object.
    await assert.rejects(store.get('k', { start: 0, length: 300_001 }), /too few bytes/)
    assert.equal((await store.stat('k'))?.size, 300_000)
  })

  test('waits for a slow storage, and not for a silent one', async () => {
    const store = await openStore({ times: { answer_ms: 400 } })
    await store.put('k', bytesOf('kept'))
    await movedAway(store)
    inTurn([{ late_ms: 30 }], isGet)
    assert.equal(await textOf(await store.get('k', { start: 0, length: 4 })), 'kept')
    server.fault = (passing) => (isGet(passing) ? { never: true } : null)
    await assert.rejects(store.get('k', { start: 0, length: 4 }), unavailable)
  })

  test('of any kind ends at its time limit if the storage accepts requests and stays silent', async () => {
    const store = await openStore({ times: { read_ms: 150 } })
    await store.put('k', bytesOf('kept'))
    await movedAway(store)
    server.fault = () => ({ never: true })
    const reads: [string, () => Promise<unknown>][] = [
      ['get', () => store.get('k', { start: 0, length: 4 })],
      ['stat', () => store.stat('k')],
      ['list', () => store.list(null, 10)],
    ]
    for (const [name, read] of reads) await assert.rejects(read(), unavailable, name)
    // The check of the prefix does not delay them longer, if the bucket was not available at the start.
    server.fault = ({ name }) =>
      name.endsWith('.owner') || name === '' ? { answer: { status: 503, code: 'x' } } : null
    const other = await openStore({ times: { read_ms: 150 } }, server.settings, join(root, 'other'))
    server.fault = () => ({ never: true })
    await assert.rejects(other.stat('k'), unavailable)
  })

  test('that has begun ends at its time limit if no more bytes come', async () => {
    const store = await openStore({ times: { answer_ms: 60, read_ms: 150 } })
    const bytes = pattern(300_000)
    await store.put('k', bytes)
    await movedAway(store)
    let requests = 0
    server.fault = (passing) => {
      if (!isGet(passing)) return null
      requests += 1
      return requests === 1 ? { hang_answer_at: 100_000 } : { never: true }
    }
    const stream = await store.get('k', { start: 0, length: bytes.length })
    await assert.rejects(async () => {
      for await (const _chunk of stream!);
    }, /broke off after 100000 of 300000 bytes/)
    assert.ok(requests > 1)
  })

  test('is aborted when its reader leaves, and waits for a slow reader', () =>
    withMoreTime(200, async (silence_ms) => {
      const store = await openStore({ times: { silence_ms } })
      const bytes = pattern(5 * MIB)
      await store.put('k', bytes)
      await movedAway(store)
      const left = await store.get('k', { start: 0, length: bytes.length })
      left!.destroy()
      const slow = await store.get('k', { start: 0, length: bytes.length })
      const before = server.passed.length
      const chunks: Uint8Array[] = []
      for await (const chunk of slow!) {
        chunks.push(chunk as Uint8Array)
        if (chunks.length === 2) await new Promise((resolve) => setTimeout(resolve, 2 * silence_ms))
      }
      assert.ok(Buffer.concat(chunks).equals(bytes))
      assert.equal(server.passed.length, before)
      await close(store)
    }))
})

describe('an outage', () => {
  test('stops only reads of objects that are only in the bucket, is logged once, and is caught up after', async () => {
    const store = await openStore()
    await store.put('far', bytesOf('far'))
    await store.put('gone/far', bytesOf('far'))
    await movedAway(store)
    server.fault = () => ({ answer: { status: 503, code: 'SlowDown' } })
    for (let i = 0; i < 20; i++) await store.put(`near/${i}`, bytesOf(`near ${i}`))
    store.putSync('gone/near', bytesOf('near'))
    assert.equal(await store.delete('gone/near'), true)
    assert.equal(await store.delete('gone/far'), true)
    assert.equal(await textOf(await store.get('near/7', { start: 0, length: 6 })), 'near 7')
    for (const key of ['gone/near', 'gone/far']) {
      assert.equal(await store.stat(key), null)
      assert.equal(await store.get(key, { start: 0, length: 3 }), null)
      assert.equal(await store.delete(key), false)
    }
    await assert.rejects(store.stat('far'), unavailable)
    await assert.rejects(store.get('far', { start: 0, length: 3 }), unavailable)
    await assert.rejects(store.list(null, 10), unavailable)
    // Other objects are put and deleted meanwhile.
    await close(store)
    const before = server.passed.length
    const next = await openStore()
    // The first attempt checks the owner of the prefix.
    await until('it to have tried', () => server.passed.slice(before).some(({ name }) => name.endsWith('.owner')))
    assert.equal(await next.stat('gone/far'), null)
    assert.equal(await textOf(await next.get('near/19', { start: 0, length: 7 })), 'near 19')
    server.fault = () => null
    await movedAway(next)
    assert.deepEqual((await next.list(null, 100)).length, 21)
    assert.equal(await textOf(await next.get('far', { start: 0, length: 3 })), 'far')
    assert.equal(told(40).length, 2, told(40).join())
    assert.equal(told(30).filter((msg) => msg.includes('can be used again')).length, 1)
    assert.ok(!logged.lines.join().includes(CREDENTIALS.secret_access_key))
  })

  test('does not prevent counting the files of a user on this machine', async () => {
    const [far, near, late] = ['a', 'b', 'c'].map((sign) => temporaryObjectKey('ada', sign.repeat(48)))
    const store = await openStore()
    await store.put(far!, bytesOf('far'))
    await movedAway(store)
    assert.deepEqual(await counted(store), [[far], null])
    const outage: Fault = { answer: { status: 503, code: 'SlowDown' } }
    server.fault = () => outage
    await store.put(near!, bytesOf('near'))
    await store.put(late!, bytesOf('late'))
    await store.put(temporaryObjectKey('bob', 'd'.repeat(48)), bytesOf('of bob'))
    assert.deepEqual(await counted(store), [[near, late], 'SERVICE_UNAVAILABLE'])
    // The outage begins when the list has arrived.
    server.fault = ({ method }) => (method === 'GET' ? null : outage)
    assert.deepEqual(await counted(store), [[near, late], 'SERVICE_UNAVAILABLE'])
    server.fault = () => null
    assert.deepEqual(await counted(store), [[far, near, late], null])
  })

  test('without any answers holds up no removal', async () => {
    const store = await openStore({ times: { removal_ms: 20 } })
    for (const key of ['HEAD', 'DELETE', 'kept']) await store.put(key, bytesOf('far'))
    await movedAway(store)
    // Each of these requests is waited for by itself for a minute, and then retried.
    for (const hung of ['HEAD', 'DELETE']) {
      server.fault = ({ method }) => (method === hung ? { never: true } : null)
      assert.equal(await store.delete(hung), true)
      assert.equal(await store.stat(hung), null)
      assert.equal(await store.get(hung, { start: 0, length: 3 }), null)
    }
    server.fault = () => ({ never: true })
    assert.equal(await store.delete('kept', NOW), true)
    await close(store)
    server.fault = () => null
    const next = await openStore()
    await movedAway(next)
    assert.deepEqual(await next.list(null, 10), ['kept'])
  })

  test('without any answers holds up one of many removals, and all of them reach the bucket later', async () => {
    const removal_ms = 200
    const store = await openStore({ times: { removal_ms } })
    const keys = Array.from({ length: 40 }, (_, at) => `many/${at}`)
    for (const key of [...keys, 'later']) await store.put(key, bytesOf('far'))
    await movedAway(store)
    server.fault = () => ({ never: true })
    const from = performance.now()
    for (const key of keys) assert.equal(await store.delete(key), true)
    const took = performance.now() - from
    assert.ok(took < (keys.length * removal_ms) / 2, `${took} ms for ${keys.length} removals`)
    server.fault = () => null
    await close(store)
    const next = await openStore({ times: { removal_ms } })
    await movedAway(next)
    assert.deepEqual(await next.list(null, 100), ['later'])
  })

  test('keeps an object that was put since it began, when the former one is deleted', async () => {
    const store = await openStore()
    await store.put('k', bytesOf('old'))
    await movedAway(store)
    server.fault = () => ({ answer: { status: 500, code: 'InternalError' } })
    assert.equal(await store.delete('k', NOW), true)
    assert.equal(await store.delete('k'), true)
    await store.put('k', bytesOf('new'))
    await close(store)
    const next = await openStore()
    assert.equal(await textOf(await next.get('k', { start: 0, length: 3 })), 'new')
    server.fault = () => null
    await movedAway(next)
    assert.equal(await textOf(await next.get('k', { start: 0, length: 3 })), 'new')
  })

  test('does not remove an object that was put too late to be removed', async () => {
    const store = await openStore()
    await store.put('k', bytesOf('kept'))
    await movedAway(store)
    server.fault = () => ({ answer: { status: 500, code: 'InternalError' } })
    await store.delete('k', NOW)
    await store.delete('k', NOW - 1)
    server.fault = () => null
    // This also holds while the removal is recorded.
    assert.equal(await textOf(await store.get('k', { start: 0, length: 4 })), 'kept')
    await movedAway(store)
    assert.deepEqual(await store.stat('k'), { size: 4, put_at: NOW })
  })

  test('prevents neither a close nor a start of the service', async () => {
    const nobody = { ...server.settings, endpoint: 'http://127.0.0.1:1' }
    const store = await openStore({}, nobody)
    await store.put('k', bytesOf('kept'))
    await close(store)
    server.fault = (passing) => (isPut(passing) && !passing.name.endsWith('.owner') ? { never: true } : null)
    const hanging = await openStore()
    await until('an upload to hang', () => server.passed.some((p) => isPut(p) && p.name.includes(nameOfFolder())))
    await close(hanging)
    assert.deepEqual(filesOf(join(root, 'objects')), ['k'])
    server.fault = () => null
    const last = await openStore()
    await movedAway(last)
    assert.equal(await textOf(await last.get('k', { start: 0, length: 4 })), 'kept')
  })
})

test('a full disk of this machine changes no objects', async () => {
  const store = await openStore()
  await store.put('k', bytesOf('old'))
  await movedAway(store)
  renameSync(join(root, 'incoming'), join(root, 'away'))
  await assert.rejects(store.put('k', bytesOf('new')))
  assert.throws(() => store.putSync('k', bytesOf('new'), bytesOf('er')))
  await assert.rejects(store.receive(bytesOf('new')))
  mkdirSync(join(root, 'incoming'))
  rmSync(join(root, 'away'), { recursive: true })
  assert.equal(await textOf(await store.get('k', { start: 0, length: 3 })), 'old')
  await store.put('k', bytesOf('new'))
  await movedAway(store)
  assert.equal(await textOf(await store.get('k', { start: 0, length: 3 })), 'new')
})

describe('a start', () => {
  const refused: [string, Partial<BucketSettings>, RegExp][] = [
    [
      'is not there',
      { bucket: 'missing' },
      /^the bucket missing at http:\S+ cannot be used: it answered 404 NoSuchBucket; check SVC_STORAGE_URL/,
    ],
    [
      'is somebody else’s',
      { credentials: { ...CREDENTIALS, secret_access_key: 'hidden' } },
      /it answered 403 SignatureDoesNotMatch; check/,
    ],
    ['is elsewhere', { region: 'eu-other-1' }, /it answered 403 SignatureDoesNotMatch; check/],
  ]
  test('hides credentials that the storage repeats, and shortens long texts', async () => {
    const credentials = { ...CREDENTIALS, session_token: 'session+token/4711-of-the-storage' }
    for (const said of [credentials.secret_access_key, credentials.session_token]) {
      server.fault = () => ({ answer: { status: 403, code: `Not${said}` } })
      await assert.rejects(openStore({}, { ...server.settings, credentials }), /it answered 403 Not\*\*\*; check/)
      server.fault = () => ({ answer: { status: 403, code: `${'x'.repeat(8_185)}${said}` } })
      await assert.rejects(openStore({}, { ...server.settings, credentials }), /it answered 403 x{100}…; check/)
    }
  })

  for (const [what, settings, message] of refused) {
    test(`says in one line that the bucket ${what}`, async () => {
      await assert.rejects(openStore({}, { ...server.settings, ...settings }), (error) => {
        assert.ok(error instanceof StartError)
        assert.match(error.message, message)
        assert.ok(!/\n|hidden/.test(error.message))
        return true
      })
    })
  }

  test('is refused where the files of another database are', async () => {
    const first = await openStore()
    await first.put('a/1', Buffer.from('kept'))
    await movedAway(first)
    await assert.rejects(openStore({ owner: 'db_2' }, server.settings, join(root, 'other')), (error) => {
      assert.ok(error instanceof StartError)
      assert.match(error.message, /^the bucket of SVC_STORAGE_URL cannot be used: the object \S+\.owner says that/)
      return true
    })
    await close(first)
    assert.equal(await textOf(await (await openStore()).get('a/1', { start: 0, length: 4 })), 'kept')
  })

  test('without an answer of the bucket does not take files from another database later', async () => {
    const first = await openStore()
    await first.put('a/1', Buffer.from('kept'))
    await movedAway(first)
    server.fault = () => ({ answer: { status: 503, code: 'SlowDown' } })
    const second = await openStore({ owner: 'db_2' }, server.settings, join(root, 'other'))
    server.fault = () => null
    await assert.rejects(second.list(null, 10), (error) => (error as ServiceError).code === 'SERVICE_UNAVAILABLE')
    await assert.rejects(second.stat('a/1'), (error) => (error as ServiceError).code === 'SERVICE_UNAVAILABLE')
    await second.delete('a/1')
    await second.put('a/1', Buffer.from('mine'))
    assert.equal(await textOf(await second.get('a/1', { start: 0, length: 4 })), 'mine')
    await until('it to be told', () => told(40).some((message) => message.includes('cannot be used')))
    assert.equal(second.pending, 1)
    assert.equal(await textOf(await first.get('a/1', { start: 0, length: 4 })), 'kept')
  })

  test('continues the work of a killed process, wherever it stopped', async () => {
    const script = `
      const { SpooledBucketStore } = await import(${JSON.stringify(new URL('../../src/assets/stores/spooled-bucket-store.ts', import.meta.url).href)})
      const log = { info() {}, warn() {}, error() {} }
      const options = { folder: ${JSON.stringify(nameOfFolder())}, owner: 'db_1', now: () => ${NOW}, log, times: { retry_ms: 2 } }
      const store = await SpooledBucketStore.open(${JSON.stringify(root)}, ${JSON.stringify(server.settings)}, options)
      for (let i = 0; ; i++) {
        const key = 'k' + i % 7 + '/' + i
        await store.put(key, Buffer.from(key.repeat(5000)))
        process.stdout.write('+' + key + '\\n')
        if (i % 3 === 2) {
          await store.delete(key)
          process.stdout.write('-' + key + '\\n')
        }
      }`
    const kept = new Set<string>()
    const gone = new Set<string>()
    for (let round = 0; round < scaled(3); round++) {
      let requests = 0
      const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      let said = ''
      child.stdout.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
      // The process dies at a request of any kind: before it, during it, or before its answer arrives.
      server.fault = ({ method }) => {
        if (method !== 'GET') requests += 1
        if (requests < 30 + 11 * round) return null
        child.kill('SIGKILL')
        return round % 2 === 0 ? { lose_answer: true } : null
      }
      await once(child, 'close')
      server.fault = () => null
      for (const line of said.split('\n').slice(0, -1)) {
        const key = line.slice(1)
        if (line.startsWith('+')) gone.delete(key)
        else gone.add(key)
        kept[line.startsWith('+') ? 'add' : 'delete'](key)
      }
      // An operation that was under way may have happened or not: a removal, or the first steps of a put.
      const last = said.split('\n').at(-2) ?? '-k0/-1'
      const i = Number(last.slice(last.indexOf('/') + 1))
      if (last.startsWith('+') && i % 3 === 2) kept.delete(last.slice(1))
      else gone.delete(`k${(i + 1) % 7}/${i + 1}`)
    }
    assert.ok(kept.size > 0 && gone.size > 0)
    const store = await openStore()
    for (const settle of [false, true]) {
      if (settle) await movedAway(store)
      for (const key of kept) {
        const text = key.repeat(5_000)
        assert.equal(await textOf(await store.get(key, { start: 0, length: text.length })), text)
      }
      const listed = await store.list(null, 100_000)
      for (const key of gone) assert.ok(!listed.includes(key), key)
      for (const key of kept) assert.ok(listed.includes(key), key)
    }
  })
})

test('a server with a bucket serves its objects, and reports when it cannot', async () => {
  const { endpoint, region } = server.settings
  const environment = {
    SVC_STORAGE_URL: `s3://${BUCKET}/served?endpoint=${endpoint}&region=${region}`,
    AWS_ACCESS_KEY_ID: CREDENTIALS.access_key_id,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secret_access_key,
  }
  await using running = await startServer({ environment })
  const body = new FormData()
  const bytes = pattern(500_000)
  body.set('file', new Blob([bytes], { type: 'application/octet-stream' }), 'pattern.bin')
  const made = await fetch(`${running.url}/api/sdk/v1/assets/temporary`, { method: 'POST', body })
  const { uri } = (await made.json()) as { uri: string }
  assert.equal(made.status, 201)
  await until('it to be in the bucket', () => filesOf(join(running.data_dir, 'temporary', 'objects')).length === 0)
  const whole = await fetch(running.url + uri)
  assert.ok(Buffer.from(await whole.arrayBuffer()).equals(bytes))
  const part = await fetch(running.url + uri, { headers: { range: 'bytes=1000-1999' } })
  assert.equal(part.status, 206)
  assert.ok(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(1_000, 2_000)))
  server.fault = () => ({ answer: { status: 503, code: 'SlowDown' } })
  const refused = await fetch(running.url + uri)
  assert.equal(refused.status, 503)
  assert.ok(!(await refused.text()).includes('SlowDown'))
  server.fault = () => null
  assert.equal((await fetch(running.url + uri)).status, 200)
})
