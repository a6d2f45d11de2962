// A change of the master key: everything is re-encrypted, wherever the change is interrupted, and no server starts in between.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, readdirSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { runBackupCommand } from '../../src/cli/backup/backup-command.ts'
import { runRestoreCommand } from '../../src/cli/backup/restore-command.ts'
import { type RotationKeys, rotateMasterKey } from '../../src/cli/master-key-rotation.ts'
import { insertJournalPage, listJournalPages } from '../../src/db/jobs/journal.ts'
import { StoredKeyFingerprints } from '../../src/db/sealed-columns.ts'
import { Store, type StoreOptions } from '../../src/db/store.ts'
import { StartError } from '../../src/start-error.ts'
import {
  generateMasterKey,
  masterKeyPath,
  nextMasterKeyPath,
  readKeyFile,
  writeKeyFile,
} from '../../src/vault/master-key-file.ts'
import { createVault, openVault } from '../../src/vault/open-vault.ts'
import { readKeyId } from '../../src/vault/vault.ts'
import { FolderCopies } from '../helpers/folder.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { jobRow, putJob } from '../helpers/store.ts'
import { command } from './stored.ts'

const FILE_KEYS: RotationKeys = { present: null, next: null }
const NEVER = new AbortController().signal
const JOBS = 4
const PAGES = 3

const plainOf = (job: number, page: number) => `parameters of ${job}, page ${page} `.repeat(page === 2 ? 60_000 : 1)

/** A data folder with journal pages under the key of its file; the pages are large, so that they take several transactions. */
async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = temporaryFolder()
  try {
    await using store = await open(folder)
    const { vault } = await openVault(folder, null, new StoredKeyFingerprints(store))
    await store.write((tx) => {
      for (let job = 1; job <= JOBS; job++) {
        putJob(tx, jobRow(job))
        for (let page = 0; page < PAGES; page++) {
          const body = vault.cipher('journal').seal(Buffer.from(plainOf(job, page)), `${job}/${page}`)
          insertJournalPage(tx, { job_key: job, page, attempt: 1, body })
        }
      }
    })
    await store[Symbol.asyncDispose]()
    await run(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The files of former keys. */
function formers(folder: string): string[] {
  const names = readdirSync(folder).filter((name) => name.startsWith('master.key.before-'))
  return names.map((name) => join(folder, name))
}

function open(folder: string, options: StoreOptions = {}): Promise<Store> {
  return Store.open(join(folder, 'svc.db'), options)
}

/** Checks that everything can be read under `key`, and is unchanged. */
async function readable(folder: string, given: string | null): Promise<string> {
  await using store = await open(folder)
  const { vault, key } = await openVault(folder, given, new StoredKeyFingerprints(store))
  for (let job = 1; job <= JOBS; job++)
    for (const { page, body } of store.read((tx) => listJournalPages(tx, job)))
      assert.equal(Buffer.from(vault.cipher('journal').open(body, `${job}/${page}`)).toString(), plainOf(job, page))
  return key
}

/** The number of pages by key. */
function underKeys(store: Store): Record<string, number> {
  const counts: Record<string, number> = {}
  for (let job = 1; job <= JOBS; job++)
    for (const { body } of store.read((tx) => listJournalPages(tx, job)))
      counts[readKeyId(body)] = (counts[readKeyId(body)] ?? 0) + 1
  return counts
}

async function refused(run: () => Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(run, (error) => {
    assert.ok(error instanceof StartError, String(error))
    assert.match(error.message, message)
    return true
  })
}

describe('a change of the master key', () => {
  test('generates a key into the key file, and leaves nothing encrypted under the old key', () =>
    inFolder(async (folder) => {
      const old = readKeyFile(masterKeyPath(folder))!
      chmodSync(masterKeyPath(folder), 0o644)
      {
        await using store = await open(folder)
        const rotation = await rotateMasterKey(store, folder, FILE_KEYS, NEVER)
        const kept = formers(folder)[0]!
        assert.deepEqual(rotation, { rows: JOBS * PAGES, damaged: 0, done: true, kept })
        assert.equal(readKeyFile(kept), old)
        if (process.platform !== 'win32') assert.equal(statSync(kept).mode & 0o777, 0o600)
        const vault = createVault(readKeyFile(masterKeyPath(folder))!)
        assert.deepEqual(underKeys(store), { [vault.key_id]: JOBS * PAGES })
      }
      const key = await readable(folder, null)
      assert.notEqual(key, old)
      assert.equal(existsSync(nextMasterKeyPath(folder)), false)
      if (process.platform !== 'win32') assert.equal(statSync(masterKeyPath(folder)).mode & 0o777, 0o600)
      await refused(() => readable(folder, old), /another key than that of SECRETS_MASTER_KEY/)
    }))

  test('to a given key removes the key file, and a change back generates a new file', () =>
    inFolder(async (folder) => {
      const next = generateMasterKey()
      {
        await using store = await open(folder)
        await rotateMasterKey(store, folder, { present: null, next }, NEVER)
      }
      assert.equal(existsSync(masterKeyPath(folder)), false)
      assert.equal(formers(folder).length, 1, 'older backups need it')
      await refused(() => readable(folder, null), /master\.key is missing/)
      await readable(folder, next)
      {
        await using store = await open(folder)
        await rotateMasterKey(store, folder, { present: next, next: null }, NEVER)
      }
      assert.notEqual(await readable(folder, null), next)
    }))

  test('interrupted after any commit is completed by the next one, and no server starts before', () =>
    inFolder(async (folder) => {
      // The disk after the last commit is what a killed process leaves behind.
      using copies = new FolderCopies(folder)
      let changing = false
      {
        await using store = await open(folder, { onCommitted: () => changing && copies.take() })
        changing = true
        await rotateMasterKey(store, folder, FILE_KEYS, NEVER)
        changing = false
      }
      const mixed: number[] = []
      for (const copied of copies.paths) {
        await refused(() => readable(copied, null), /was interrupted; complete it with "svc secrets rotate"/)
        {
          await using store = await open(copied)
          mixed.push(Object.keys(underKeys(store)).length)
          await rotateMasterKey(store, copied, FILE_KEYS, NEVER)
          assert.equal(Object.keys(underKeys(store)).length, 1)
        }
        assert.equal(await readable(copied, null), await readable(folder, null), 'the key that was begun with')
      }
      assert.ok(copies.paths.length >= 4, `${copies.paths.length} commits`)
      assert.ok(mixed.includes(2), 'some lay in the middle')
      assert.deepEqual([mixed[0], mixed.at(-1)], [1, 1])
    }))

  test('stops between two commits when asked to, and continues only with the same key', () =>
    inFolder(async (folder) => {
      const next = generateMasterKey()
      const stop = new AbortController()
      let left = 2
      {
        await using store = await open(folder, { onCommitted: () => --left === 0 && stop.abort() })
        const rotation = await rotateMasterKey(store, folder, { present: null, next }, stop.signal)
        assert.equal(rotation.done, false)
        assert.ok(rotation.rows > 0 && rotation.rows < JOBS * PAGES, String(rotation.rows))
      }
      await refused(() => readable(folder, null), /was interrupted/)
      await using store = await open(folder)
      const again = (keys: RotationKeys) => rotateMasterKey(store, folder, keys, NEVER)
      await refused(() => again(FILE_KEYS), /earlier change of the key was interrupted/)
      await refused(() => again({ present: null, next: generateMasterKey() }), /earlier change of the key/)
      await refused(() => again({ present: generateMasterKey(), next }), /another key than that of SECRETS_MASTER_KEY/)
      assert.equal((await again({ present: null, next })).done, true)
      assert.deepEqual(underKeys(store), { [createVault(next).key_id]: JOBS * PAGES })
    }))

  test('leaves damaged values unchanged, and reports their number', () =>
    inFolder(async (folder) => {
      await using store = await open(folder)
      const broken = [Buffer.from('x'), Buffer.alloc(60, 1), Buffer.alloc(0)]
      await store.write((tx) =>
        broken.forEach((body, i) => {
          insertJournalPage(tx, { job_key: 2, page: 100 + i, attempt: 1, body })
        }),
      )
      const rotation = await rotateMasterKey(store, folder, FILE_KEYS, NEVER)
      assert.deepEqual(rotation, { rows: JOBS * PAGES, damaged: broken.length, done: true, kept: formers(folder)[0] })
      const pages = store.read((tx) => listJournalPages(tx, 2)).slice(PAGES)
      assert.deepEqual(
        pages.map(({ body }) => Buffer.from(body)),
        broken,
      )
    }))

  test('keeps the key of each older backup, and a restore says which key it needs', () =>
    inFolder(async (folder) => {
      const [environment, target] = [{ SVC_DATA_DIR: folder }, `${folder}-backup`]
      try {
        assert.equal((await command(runBackupCommand, [target], environment)).code, 0)
        const same = await command(runRestoreCommand, [target, '--force'], environment)
        assert.doesNotMatch(same.stderr, /key/)
        const old = readKeyFile(masterKeyPath(folder))
        for (let i = 0; i < 2; i++) {
          await using store = await open(folder)
          await rotateMasterKey(store, folder, FILE_KEYS, NEVER)
        }
        const former = formers(folder).find((path) => readKeyFile(path) === old)!
        const { code, stderr } = await command(runRestoreCommand, [target, '--force'], environment)
        assert.equal(code, 0)
        const told = `another key than that of ${masterKeyPath(folder)}: before a server starts, replace master.key with the key in ${former},`
        assert.ok(stderr.includes(told), stderr)
        await refused(() => readable(folder, null), /under another key/)
        rmSync(masterKeyPath(folder))
        const without = await command(runRestoreCommand, [target, '--force'], environment)
        assert.ok(without.stderr.includes(`rename ${former} to master.key: it is the key`), without.stderr)
        const given = await command(runRestoreCommand, [target, '--force'], {
          ...environment,
          SECRETS_MASTER_KEY: generateMasterKey(),
        })
        assert.ok(given.stderr.includes(`replace SECRETS_MASTER_KEY with the key in ${former}`), given.stderr)
        renameSync(former, masterKeyPath(folder))
        assert.equal(await readable(folder, null), old)
        for (const path of formers(folder)) rmSync(path)
        writeKeyFile(masterKeyPath(folder), generateMasterKey())
        const lost = await command(runRestoreCommand, [target, '--force'], environment)
        assert.match(lost.stderr, /replace master\.key with the key with the fingerprint [0-9a-f]{16}/)
      } finally {
        rmSync(target, { recursive: true, force: true })
      }
    }))

  test('needs the present key', () =>
    inFolder(async (folder) => {
      const key = readFileSync(masterKeyPath(folder))
      await using store = await open(folder)
      const change = () => rotateMasterKey(store, folder, FILE_KEYS, NEVER)
      writeKeyFile(masterKeyPath(folder), generateMasterKey())
      await refused(change, /encrypted under another key than that of .*master\.key/)
      rmSync(masterKeyPath(folder))
      await refused(change, /there is no key file .*master\.key; set SECRETS_MASTER_KEY/)
      assert.equal(existsSync(nextMasterKeyPath(folder)), false)
      await rotateMasterKey(store, folder, { present: key.toString().trim(), next: null }, NEVER)
      assert.ok(existsSync(masterKeyPath(folder)))
    }))
})
