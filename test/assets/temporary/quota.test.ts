// Tests the quota of temporary files: bytes count while they are written, after a restart from the disk, and until they expire.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import type { AssetOutputLocation } from '../../../src/assets/asset-store.ts'
import { LocalObjectStore } from '../../../src/assets/stores/local-object-store.ts'
import { ExpiringByteCount } from '../../../src/assets/temporary/expiring-byte-count.ts'
import { listTemporaryFiles } from '../../../src/assets/temporary/keys.ts'
import { TemporaryQuota } from '../../../src/assets/temporary/quota.ts'
import { type TemporaryFile, TemporaryStore } from '../../../src/assets/temporary/store.ts'
import { ServiceError } from '../../../src/errors.ts'
import { inFolder } from '../../helpers/folder.ts'
import { ADA, BOB, type Clock, clock, HOUR } from '../kit.ts'

const MINUTE = 60_000
const LIMIT = 100_000
const RUNNING = new AbortController().signal
const PLACE: AssetOutputLocation = { job_key: 1, output_name: 'out', ordinal: 0, path: [] }
const CLAIMS = { name: null, content_type: null }

interface Kit {
  platform: Clock
  temporary: TemporaryStore
  quota: TemporaryQuota
}

function open(root: string, platform = clock()): Kit {
  const objects = new LocalObjectStore(root, platform.now)
  const files = (user_id: string) => listTemporaryFiles(objects, user_id)
  const quota = new TemporaryQuota({ limit: LIMIT, now: platform.now, listFiles: files })
  const secret = new Uint8Array(32)
  return { platform, quota, temporary: new TemporaryStore({ objects, quota, platform, secret }) }
}

const withStore = (run: (kit: Kit, root: string) => Promise<void>) =>
  inFolder((folder) => run(open(join(folder, 'temporary')), join(folder, 'temporary')))

async function* pieces(bytes: number): AsyncGenerator<Uint8Array> {
  for (let left = bytes; left > 0; left -= 10_000) yield Buffer.alloc(Math.min(left, 10_000))
}

const put = ({ temporary }: Kit, bytes: number, scope = ADA) =>
  temporary.put(scope, { name: null, content_type: null, bytes: pieces(bytes) })

/** Returns the most that a user can still reserve at once. */
async function left(kit: Kit, user_id = 'ada'): Promise<number> {
  using room = await kit.quota.reserve(user_id).catch((error) => {
    assert.ok(exceeded(error))
    return null
  })
  if (!room) return 0
  let [fits, none] = [0, LIMIT + 1]
  while (none - fits > 1) {
    const middle = (fits + none) >> 1
    try {
      room.take(middle - fits)
      fits = middle
    } catch {
      none = middle
      room.take(fits)
    }
  }
  return fits
}

const exceeded = (error: unknown) => error instanceof ServiceError && error.code === 'TEMPORARY_QUOTA_EXCEEDED'

/** The bytes that a file counts: its content and its record. */
async function counted(kit: Kit, make: () => Promise<unknown>): Promise<number> {
  const before = await left(kit)
  await make()
  return before - (await left(kit))
}

describe('the quota of a user', () => {
  test(
    'accepts what fits, to the byte, and refuses the rest',
    withStore(async (kit) => {
      assert.equal(await left(kit), LIMIT)
      const size = await counted(kit, () => put(kit, 40_000))
      assert.ok(size > 40_000 && size < 41_000, String(size))
      const record = size - 40_000
      await assert.rejects(put(kit, LIMIT - size - record + 1), exceeded)
      assert.equal(await left(kit), LIMIT - size)
      await put(kit, LIMIT - size - record)
      assert.equal(await left(kit), 0)
      await assert.rejects(put(kit, 0), exceeded)
    }),
  )

  test(
    'reports the used bytes, the limit, and when there is room again',
    withStore(async (kit) => {
      await put(kit, 60_000)
      kit.platform.ms += HOUR
      await put(kit, 30_000)
      const used = LIMIT - (await left(kit))
      const wrong = await put(kit, 90_000).catch((error: ServiceError) => error)
      assert.ok(wrong instanceof ServiceError && exceeded(wrong))
      const { message, headers, status, retryable } = wrong
      assert.deepEqual([status, retryable, headers['Retry-After']], [413, false, String(23 * 3_600)])
      assert.match(message, /take \d+ of 100000 bytes, .* the first of them expire at 2026-01-02T00:00:00/)
      // This refusal comes before any byte is read.
      const announced = await kit.quota.reserve('ada', LIMIT).catch((error: ServiceError) => error)
      assert.ok(announced instanceof ServiceError && announced.message.includes(`take ${used} of`))
      const alone = await kit.quota.reserve('bob', LIMIT + 1).catch((error: ServiceError) => error)
      assert.ok(alone instanceof ServiceError && exceeded(alone) && alone.headers['Retry-After'] === undefined)
    }),
  )

  test(
    'covers all workspaces of the user, and no other user',
    withStore(async (kit) => {
      await put(kit, 60_000, { ...ADA, workspace_id: 'w' } as never)
      await assert.rejects(put(kit, 60_000), exceeded)
      await put(kit, 60_000, BOB)
      assert.ok((await left(kit, 'bob')) < 40_000)
    }),
  )

  test(
    'holds for a hundred uploads at once: bytes under way count',
    withStore(async (kit) => {
      const all = await Promise.allSettled(Array.from({ length: 100 }, () => put(kit, 9_000)))
      const made = all.flatMap((one) => (one.status === 'fulfilled' ? [one.value] : []))
      for (const one of all) assert.ok(one.status === 'fulfilled' || exceeded(one.reason))
      assert.ok(made.length >= 1 && made.length <= 10, String(made.length))
      const size = await counted(kit, () => kit.temporary.remove(made[0]!))
      assert.equal(await left(kit), LIMIT + size * (made.length - 1))
      // Refused uploads hold no bytes.
      for (let count = made.length - 1; count < 10; count += 1) await put(kit, 9_000)
      await assert.rejects(put(kit, 9_000), exceeded)
    }),
  )

  test(
    'is right after a restart, and while it is counted',
    withStore(async (kit, root) => {
      const files: TemporaryFile[] = []
      for (let count = 0; count < 20; count += 1) files.push(await put(kit, 2_000))
      kit.temporary.putOutput(ADA, Buffer.alloc(3_000), PLACE, CLAIMS)
      await put(kit, 5_000, BOB)
      const before = await left(kit)
      const again = open(root, kit.platform)
      assert.equal(await left(again), before)
      // A file that comes during the count counts once.
      const busy = open(root, kit.platform)
      const made = await Promise.all([put(busy, 2_000), put(busy, 2_000), left(busy), put(busy, 2_000)])
      assert.ok(made)
      assert.equal(await left(busy), await left(open(root, kit.platform)))
      await busy.temporary.remove(files[0]!)
      assert.equal(await left(busy), await left(open(root, kit.platform)))
    }),
  )

  test(
    'counts outputs of jobs, and never refuses them',
    withStore(async (kit) => {
      await put(kit, 60_000)
      const kept = kit.temporary.putOutput(ADA, Buffer.alloc(60_000), PLACE, CLAIMS)
      assert.ok(await kit.temporary.findById(ADA, kept.asset_id))
      assert.equal(await left(kit), 0)
      await assert.rejects(put(kit, 1), exceeded)
      kit.platform.ms += 25 * HOUR
      assert.equal(await left(kit), LIMIT)
    }),
  )

  test(
    'counts a file of a job twice for at most a minute, if it was stored again',
    withStore(async (kit) => {
      await left(kit)
      const bytes = Buffer.alloc(30_000)
      kit.temporary.putOutput(ADA, bytes, PLACE, CLAIMS)
      const once = await left(kit)
      kit.temporary.putOutput(ADA, bytes, PLACE, CLAIMS)
      kit.platform.ms += MINUTE
      assert.equal(await left(kit), once)
    }),
  )

  test('has the room of a removed file within a minute, if the store dates it differently than its record', async () => {
    const platform = clock()
    const file = { key: 'k', bytes: LIMIT, expires_at: platform.ms + 24 * HOUR }
    let there = true
    async function* files() {
      if (there) yield { ...file, expires_at: file.expires_at + 1 }
    }
    const quota = new TemporaryQuota({ limit: LIMIT, now: platform.now, listFiles: files })
    await assert.rejects(quota.reserve('ada', 1), exceeded)
    there = false
    quota.removeFile('ada', file)
    platform.ms += MINUTE
    using room = await quota.reserve('ada', LIMIT)
    room.take(LIMIT)
  })

  test(
    'has room again once files have expired, swept or not, or are removed',
    withStore(async (kit) => {
      const first = await put(kit, 50_000)
      kit.platform.ms += 2 * HOUR
      await put(kit, 40_000)
      await assert.rejects(put(kit, 50_000), exceeded)
      kit.platform.ms += 22 * HOUR + MINUTE
      assert.equal(await kit.temporary.find(ADA, first.storage_key), null)
      const second = await put(kit, 50_000)
      await assert.rejects(put(kit, 50_000), exceeded)
      await kit.temporary.remove(second)
      await kit.temporary.remove(second)
      await put(kit, 50_000)
      await kit.temporary.sweep(10, RUNNING)
      const before = await left(kit)
      kit.platform.ms += 25 * HOUR
      await kit.temporary.sweep(10, RUNNING)
      assert.ok(before < 20_000)
      assert.equal(await left(kit), LIMIT)
    }),
  )

  test(
    'does not exist if the limit is 0',
    inFolder(async (folder) => {
      const objects = new LocalObjectStore(join(folder, 'x'), Date.now)
      const never = () => assert.fail('nothing is counted')
      const quota = new TemporaryQuota({ limit: 0, now: Date.now, listFiles: never })
      using room = await quota.reserve('ada', Number.MAX_SAFE_INTEGER)
      room.take(Number.MAX_SAFE_INTEGER)
      assert.deepEqual(await objects.list(null, 1), [])
    }),
  )

  test(
    'is counted again after a count that failed',
    inFolder(async (folder) => {
      const objects = new LocalObjectStore(join(folder, 'x'), Date.now)
      let broken = true
      async function* files(user_id: string) {
        yield* listTemporaryFiles(objects, user_id)
        if (broken) throw new Error('the disk does not answer')
      }
      const quota = new TemporaryQuota({ limit: 10, now: Date.now, listFiles: files })
      await assert.rejects(quota.reserve('ada'), /does not answer/)
      broken = false
      using room = await quota.reserve('ada')
      room.take(10)
      assert.throws(() => room.take(1), exceeded)
    }),
  )

  test('works while some files cannot be listed: by the last count, or by the other files', async () => {
    const platform = clock()
    const expires_at = platform.ms + 24 * HOUR
    const [here, far] = [
      { key: 'here', bytes: 30_000, expires_at },
      { key: 'far', bytes: 20_000, expires_at },
    ]
    let outage: Promise<never> | null = null
    const fail = () => Promise.reject(new ServiceError('SERVICE_UNAVAILABLE'))
    async function* files() {
      yield here
      if (outage) await outage
      yield far
    }
    const quota = new TemporaryQuota({ limit: LIMIT, now: platform.now, listFiles: files })
    const used = async (user_id: string) => {
      const wrong = await quota.reserve(user_id, LIMIT + 1).catch((error: ServiceError) => error)
      assert.ok(wrong instanceof ServiceError && exceeded(wrong), String(wrong))
      return Number(/take (\d+) of/.exec(wrong.message)![1])
    }
    assert.equal(await used('ada'), 50_000)
    outage = fail()
    // The count may or may not include these changes.
    quota.addFile('ada', here, true)
    platform.ms += MINUTE
    assert.equal(await used('ada'), 80_000)
    assert.equal(await used('bob'), 30_000)
    const kept = { key: 'new', bytes: 5_000, expires_at }
    quota.addFile('bob', kept)
    assert.equal(await used('bob'), 35_000)
    // No call waits for the count that failed before.
    const silence = Promise.withResolvers<never>()
    outage = silence.promise
    platform.ms += MINUTE
    for (const user_id of ['bob', 'bob']) assert.equal(await used(user_id), 35_000)
    silence.reject(new ServiceError('SERVICE_UNAVAILABLE'))
    outage = null
    await new Promise(setImmediate)
    platform.ms += MINUTE
    for (const user_id of ['ada', 'bob']) await used(user_id)
    await new Promise(setImmediate)
    for (const user_id of ['ada', 'bob']) assert.equal(await used(user_id), 50_000)
  })

  test('matches the disk after any operations in any order', async () => {
    type Step = { do: 'put' | 'keep' | 'remove' | 'wait' | 'sweep' | 'restart'; user: 'ada' | 'bob'; bytes: number }
    const step = fc.record<Step>({
      do: fc.constantFrom('put', 'put', 'keep', 'remove', 'wait', 'sweep', 'restart'),
      user: fc.constantFrom('ada', 'bob'),
      bytes: fc.integer({ min: 0, max: 60_000 }),
    })
    const property = fc.asyncProperty(fc.array(step, { maxLength: 25 }), (steps) =>
      inFolder(async (folder) => {
        let kit = open(folder)
        const files: { user: string; file: TemporaryFile | null; size: number; until: number }[] = []
        const used = (user: string) =>
          files.reduce((sum, one) => (one.user === user && one.until > kit.platform.ms ? sum + one.size : sum), 0)
        for (const [at, { do: what, user, bytes }] of steps.entries()) {
          const scope = { user_id: user, workspace_id: at % 2 === 0 ? null : 'w' }
          const before = LIMIT - used(user)
          const until = kit.platform.ms + 24 * HOUR
          if (what === 'put') {
            const file = await put(kit, bytes, scope as never).catch((error) => {
              assert.ok(exceeded(error))
              return null
            })
            const size = Math.max(0, before) - (await left(kit, user))
            if (file) assert.ok(size > bytes && size < bytes + 1_000)
            else assert.ok(size === 0 && bytes + 1_000 > before)
            if (file) files.push({ user, file, size, until })
          } else if (what === 'keep') {
            const room = await left(kit, user)
            kit.temporary.putOutput(scope, Buffer.alloc(bytes), { ...PLACE, ordinal: at }, CLAIMS)
            const after = await left(kit, user)
            // Bytes beyond the limit do not show in the remaining room, so they are counted from the disk.
            const size = after > 0 ? room - after : await onDisk(kit, user, used(user))
            files.push({ user, file: null, size, until })
          } else if (what === 'remove') {
            const one = files.findIndex(({ file }) => file?.user_id === user)
            if (one >= 0) await kit.temporary.remove(files.splice(one, 1)[0]!.file!)
          } else if (what === 'wait') kit.platform.ms += Math.round(bytes / 10) * MINUTE
          else if (what === 'sweep') await kit.temporary.sweep(3, RUNNING)
          else kit = open(folder, kit.platform)
          for (const one of ['ada', 'bob']) assert.equal(await left(kit, one), Math.max(0, LIMIT - used(one)), one)
        }
      })(),
    )
    await fc.assert(property, { numRuns: 30 })

    async function onDisk(kit: Kit, user: string, before: number): Promise<number> {
      const wrong = await kit.quota.reserve(user, LIMIT + 1).catch((error: ServiceError) => error)
      assert.ok(wrong instanceof ServiceError)
      return Number(/take (\d+) of/.exec(wrong.message)![1]) - before
    }
  })
})

describe('bytes that expire', () => {
  test('are gone a minute after their expiry, and add up until then', () => {
    const add = fc.tuple(fc.integer({ min: 0, max: 1_000 }), fc.integer({ min: 1, max: 100 * MINUTE }))
    const property = fc.property(fc.array(add), fc.integer({ min: 0, max: 110 * MINUTE }), (all, now) => {
      const bytes = new ExpiringByteCount()
      for (const one of all) bytes.add(...one)
      const end = (at: number) => Math.ceil(at / MINUTE) * MINUTE
      const sum = all.reduce((total, [size, at]) => (end(at) > now ? total + size : total), 0)
      assert.equal(bytes.bytes(now), sum)
      for (const [size, at] of all) if (end(at) > now) bytes.remove(size, at)
      assert.deepEqual([bytes.bytes(now), bytes.next_at], [0, Number.POSITIVE_INFINITY])
    })
    fc.assert(property)
  })
})
