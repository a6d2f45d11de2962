// `svc secrets rotate` from an operator's view: its messages, its exit codes, and its refusal beside a running server.
import assert from 'node:assert/strict'
import { existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { formatUsage } from '../../src/cli/help.ts'
import { openDataFolder } from '../../src/db/files/data-folder.ts'
import { insertJournalPage, listJournalPages } from '../../src/db/jobs/journal.ts'
import { StoredKeyFingerprints } from '../../src/db/sealed-columns.ts'
import { Store } from '../../src/db/store.ts'
import { generateMasterKey, masterKeyPath, readKeyFile } from '../../src/vault/master-key-file.ts'
import { openVault } from '../../src/vault/open-vault.ts'
import { svc } from '../helpers/process.ts'
import { temporaryFolder } from '../helpers/server.ts'
import { jobRow, putJob } from '../helpers/store.ts'

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = temporaryFolder()
  try {
    await run(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Encrypts a page with the current key, or reads it. */
async function withPage(path: string, folder: string, given: string | null, put: boolean): Promise<void> {
  await using store = await Store.open(path)
  const { vault } = await openVault(folder, given, new StoredKeyFingerprints(store))
  const cipher = vault.cipher('journal')
  if (put) {
    const body = cipher.seal(Buffer.from('{"a":1}'), '1/0')
    await store.write((tx) => {
      putJob(tx, jobRow(1))
      insertJournalPage(tx, { job_key: 1, page: 0, attempt: 1, body })
    })
  }
  const [page] = store.read((tx) => listJournalPages(tx, 1))
  assert.equal(Buffer.from(cipher.open(page!.body, '1/0')).toString(), '{"a":1}')
}

describe('svc secrets rotate', () => {
  test('creates a new key, and prints how many records it encrypts', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'svc.db')
      await withPage(path, folder, null, true)
      const before = readKeyFile(masterKeyPath(folder))
      const { code, stdout, stderr } = await svc(['secrets', 'rotate'], { SVC_DATA_DIR: folder })
      assert.deepEqual([code, stdout], [0, ''])
      assert.match(
        stderr,
        /^svc: 1 stored value is encrypted under the new key\nsvc: earlier backups need the old key, which is kept in \S+master\.key\.before-\w+: keep it for as long as you keep them\n$/,
      )
      assert.notEqual(readKeyFile(masterKeyPath(folder)), before)
      assert.equal(existsSync(join(folder, 'owner')), false)
      await withPage(path, folder, null, false)
    }))

  test('reads keys from the environment for a database elsewhere, and says what to set', () =>
    inFolder(async (folder) => {
      const path = join(folder, 'elsewhere.db')
      const data = join(folder, 'data')
      const [present, next] = [generateMasterKey(), generateMasterKey()]
      await withPage(path, data, present, true)
      const environment = { SVC_DATA_DIR: data, SVC_DATABASE_URL: `sqlite:${path}`, SECRETS_MASTER_KEY: present }
      const given = await svc(['secrets', 'rotate'], { ...environment, SECRETS_MASTER_KEY_NEW: next })
      assert.equal(given.code, 0)
      assert.match(given.stderr, /\nsvc: from now on, set SECRETS_MASTER_KEY to the value of SECRETS_MASTER_KEY_NEW\n$/)
      await withPage(path, data, next, false)
      const made = await svc(['secrets', 'rotate'], { ...environment, SECRETS_MASTER_KEY: next })
      assert.equal(made.code, 0)
      assert.match(made.stderr, /\nsvc: the new key is in the data folder: .* without SECRETS_MASTER_KEY\n$/)
      await withPage(path, data, null, false)
      for (const text of [given.stderr, made.stderr]) assert.ok(!text.includes(present) && !text.includes(next))
    }))

  test('refuses in one line to work beside a server, without a database, or with invalid settings', () =>
    inFolder(async (folder) => {
      const none = await svc(['secrets', 'rotate'], { SVC_DATA_DIR: folder })
      assert.deepEqual([none.code, none.stdout], [1, ''])
      assert.match(none.stderr, /^svc: there is no database [^\n]*svc\.db; check SVC_DATA_DIR and SVC_DATABASE_URL\n$/)
      const short = await svc(['secrets', 'rotate'], {
        SVC_DATA_DIR: folder,
        SECRETS_MASTER_KEY_NEW: 'fifteen letters',
      })
      assert.deepEqual(
        [short.code, short.stderr],
        [1, 'svc: SECRETS_MASTER_KEY_NEW must have at least 16 characters\n'],
      )
      await withPage(join(folder, 'svc.db'), folder, null, true)
      using _server = openDataFolder(folder, 'process 17')
      const beside = await svc(['secrets', 'rotate'], { SVC_DATA_DIR: folder })
      assert.equal(beside.code, 1)
      assert.match(beside.stderr, /^svc: the data folder [^\n]* belongs to a running server \(process 17\)[^\n]*\n$/)
    }))

  for (const [args, message] of [
    [['secrets'], /rotate is missing/],
    [['secrets', 'list'], /there is no command "secrets list"/],
    [['secrets', 'rotate', 'now'], /unexpected argument "now"/],
  ] as const) {
    test(`svc ${args.join(' ')} is refused with the usage and 2`, async () => {
      const { code, stderr } = await svc(args)
      assert.equal(code, 2)
      assert.match(stderr, message)
      assert.ok(stderr.endsWith(`${formatUsage('secrets')}\n`))
    })
  }
})
