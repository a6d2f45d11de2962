// Stored hashes of requests: they reveal no parameters, and tell repeated requests from others, also after a change of the master key and in rows of
// earlier versions.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { rotateMasterKey } from '../../src/cli/master-key-rotation.ts'
import { Store } from '../../src/db/store.ts'
import { hashRequest } from '../../src/jobs/submission/new-job.ts'
import { createLog, type Log } from '../../src/log.ts'
import { refreshChecksums, withoutTriggers } from '../helpers/checksums.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { coded, OWNER, plain, startGated, submission } from './kit.ts'

const NEVER = new AbortController().signal
const keyed = (more: object = {}) => submission({ graph: plain, idempotency_key: 'k', ...more })
const named = (more: object = {}) => submission({ graph: plain, job_id: 'chosen', ...more })

/** A data folder with a job that has an idempotency key, and one whose id the client chose. */
async function inFolder(run: (folder: string, ids: readonly string[]) => Promise<void>): Promise<void> {
  const data_dir = temporaryFolder()
  try {
    await run(data_dir, await submitBoth(data_dir))
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

async function submitBoth(data_dir: string, log?: Log): Promise<string[]> {
  await using server = await startGated({ data_dir, ...(log && { log }) })
  const { jobs } = server.context.runs
  const submitted = [jobs.submit(OWNER, keyed()), jobs.submit(OWNER, named())]
  for (const { active } of submitted) await active?.settled()
  return submitted.map(({ row }) => row.id)
}

async function checkRecognized(data_dir: string, ids: readonly string[]): Promise<void> {
  assert.deepEqual(await submitBoth(data_dir), ids)
  await using server = await startGated({ data_dir })
  const { jobs } = server.context.runs
  assert.throws(() => jobs.submit(OWNER, keyed({ name: 'other' })), coded('IDEMPOTENCY_CONFLICT'))
  assert.throws(() => jobs.submit(OWNER, named({ name: 'other' })), coded('CONFLICT'))
}

async function rotate(folder: string): Promise<void> {
  await using store = await Store.open(join(folder, 'svc.db'))
  assert.equal((await rotateMasterKey(store, folder, { present: null, next: null }, NEVER)).done, true)
}

interface StoredDigest {
  readonly request_sha256: string
}

function inDatabase<T>(folder: string, work: (db: Database.Database) => T): T {
  const db = new Database(join(folder, 'svc.db'))
  try {
    return work(db)
  } finally {
    db.close()
  }
}

describe('the stored hash of a request', () => {
  test('cannot be computed without the master key', () =>
    inFolder(async (folder) => {
      const stored = inDatabase(folder, (db) => [
        ...(db.prepare('select request_sha256 from idempotency_key').all() as StoredDigest[]),
        ...(db.prepare('select request_sha256 from job where request_sha256 is not null').all() as StoredDigest[]),
      ])
      assert.equal(stored.length, 3)
      for (const { request_sha256 } of stored) assert.match(request_sha256, /^hmac:[0-9a-f]{8}:[0-9a-f]{64}$/)
      const plainHashes = [hashRequest(keyed()), hashRequest(named())]
      for (const { request_sha256 } of stored)
        for (const hash of plainHashes) assert.ok(!request_sha256.includes(hash), request_sha256)
    }))

  test('of an earlier version is recognized', () =>
    inFolder(async (folder, ids) => {
      inDatabase(folder, (db) => {
        db.prepare('update idempotency_key set request_sha256 = ?').run(hashRequest(keyed()))
        withoutTriggers(db, () => {
          db.prepare('update job set request_sha256 = ? where id = ?').run(hashRequest(named()), 'chosen')
        })
        refreshChecksums(db)
      })
      await checkRecognized(folder, ids)
    }))

  test('is recognized after changes of the master key', () =>
    inFolder(async (folder, ids) => {
      await rotate(folder)
      await checkRecognized(folder, ids)
      await rotate(folder)
      await checkRecognized(folder, ids)
    }))

  test('under a lost key gives the job of the first request, and no conflict', () =>
    inFolder(async (folder, ids) => {
      await rotate(folder)
      inDatabase(folder, (db) => db.prepare("delete from meta where name = 'former_request_keys'").run())
      assert.deepEqual(await submitBoth(folder), ids)
      await using server = await startGated({ data_dir: folder })
      assert.equal(server.context.runs.jobs.submit(OWNER, keyed({ name: 'other' })).row.id, ids[0])
    }))

  for (const malformed of ['[{', '{}', '[null]', '[{"key_id":"k","body":1}]'])
    test(`under a lost key, where the list of keys is ${malformed}, gives the job of the first request`, () =>
      inFolder(async (folder, ids) => {
        await rotate(folder)
        inDatabase(folder, (db) => {
          db.prepare("update meta set value = ? where name = 'former_request_keys'").run(malformed)
          refreshChecksums(db)
        })
        const lines: string[] = []
        const log = createLog('info', undefined, { write: (line) => lines.push(line) })
        assert.deepEqual(await submitBoth(folder, log), ids)
        assert.equal(lines.filter((line) => line.includes('former request keys')).length, 1)
      }))
})
