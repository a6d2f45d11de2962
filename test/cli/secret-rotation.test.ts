// A change of the master key with secrets of users: each is encrypted under a key of its user, wherever the change is interrupted. And what works
// after the key is lost, a value is damaged, or a backup is restored.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { runBackupCommand } from '../../src/cli/backup/backup-command.ts'
import { runRestoreCommand } from '../../src/cli/backup/restore-command.ts'
import { runCheckCommand } from '../../src/cli/check.ts'
import { rotateMasterKey } from '../../src/cli/master-key-rotation.ts'
import { SqliteCatalogue } from '../../src/db/catalogue.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import { StoredKeyFingerprints } from '../../src/db/sealed-columns.ts'
import { Store, type StoreOptions } from '../../src/db/store.ts'
import { createLog } from '../../src/log.ts'
import { systemPlatform } from '../../src/platform.ts'
import { Redactor } from '../../src/redaction/redactor.ts'
import { SecretService } from '../../src/settings/secret-service.ts'
import { StartError } from '../../src/start-error.ts'
import { masterKeyPath } from '../../src/vault/master-key-file.ts'
import { openVault } from '../../src/vault/open-vault.ts'
import { readKeyId, type Vault } from '../../src/vault/vault.ts'
import { refreshChecksums } from '../helpers/checksums.ts'
import { FolderCopies } from '../helpers/folder.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'
import { readAllUserSecrets } from '../helpers/store.ts'
import { LOCAL, OTHERS } from '../settings/kit.ts'
import { command } from './stored.ts'

const FILE_KEYS = { present: null, next: null }
const NEVER = new AbortController().signal
const OWNERS: readonly OwnerScope[] = [
  LOCAL,
  ...OTHERS,
  { user_id: 'a/b', workspace_id: 'c' },
  { user_id: 'a', workspace_id: 'b/c' },
]
/** The number of secrets, which take several transactions. */
const NAMES = ['KEY', ...Array.from({ length: 219 }, (_, i) => `K${i}`)]

function valueFor({ user_id, workspace_id }: OwnerScope, name: string): string {
  return `${name} of ${user_id} in ${workspace_id}`
}

function open(folder: string, options: StoreOptions = {}): Promise<Store> {
  return Store.open(join(folder, 'svc.db'), options)
}

function secretsIn(store: Store, vault: Vault, redactor = new Redactor()): SecretService {
  const parts = {
    store,
    catalogue: new SqliteCatalogue(store),
    vault,
    redactor,
    platform: systemPlatform(),
    log: createLog('silent'),
  }
  return new SecretService({ ...parts, operatorSecrets: () => ({}), provider_keys: {}, purposes: new Map() })
}

async function inFolder(run: (folder: string) => Promise<void>): Promise<void> {
  const folder = temporaryFolder()
  try {
    {
      await using store = await open(folder)
      const { vault } = await openVault(folder, null, new StoredKeyFingerprints(store))
      const secrets = secretsIn(store, vault)
      await Promise.all(OWNERS.flatMap((owner) => NAMES.map((name) => secrets.put(owner, name, valueFor(owner, name)))))
    }
    await run(folder)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Checks that everything can be read, and is unchanged. */
async function readable(folder: string): Promise<void> {
  await using store = await open(folder)
  const { vault } = await openVault(folder, null, new StoredKeyFingerprints(store))
  const redactor = new Redactor()
  const secrets = secretsIn(store, vault, redactor)
  await secrets.load()
  for (const owner of OWNERS)
    for (const name of NAMES) {
      assert.equal(secrets.value(owner, name), valueFor(owner, name))
      assert.equal(redactor.text(valueFor(owner, name)), '[redacted]')
    }
}

/** The number of keys under which the values are encrypted. */
function keysIn(store: Store): number {
  return new Set(readAllUserSecrets(store).map(({ body }) => readKeyId(body))).size
}

async function refused(run: () => Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(run, (error) => error instanceof StartError && message.test(error.message))
}

describe('secrets of users', () => {
  test('are all under the new key after a change, and only then can be read with it', () =>
    inFolder(async (folder) => {
      {
        await using store = await open(folder)
        const before = new Map(
          readAllUserSecrets(store).map((row) => [JSON.stringify([row.user_id, row.workspace, row.name]), row]),
        )
        const { rows, damaged, done } = await rotateMasterKey(store, folder, FILE_KEYS, NEVER)
        assert.deepEqual([rows, damaged, done], [OWNERS.length * NAMES.length, 0, true])
        for (const row of readAllUserSecrets(store)) {
          const old = before.get(JSON.stringify([row.user_id, row.workspace, row.name]))!
          assert.notEqual(readKeyId(row.body), readKeyId(old.body))
          assert.equal(row.updated_at, old.updated_at, 'nobody has set it anew')
        }
      }
      await readable(folder)
    }))

  test('can be read wherever a change was interrupted, and the next change completes it', () =>
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
        await refused(() => readable(copied), /was interrupted; complete it with "svc secrets rotate"/)
        {
          await using store = await open(copied)
          mixed.push(keysIn(store))
          await rotateMasterKey(store, copied, FILE_KEYS, NEVER)
          assert.equal(keysIn(store), 1)
        }
        await readable(copied)
      }
      assert.ok(mixed.includes(2), `some lay in the middle: ${mixed.join()}`)
    }))

  test('keep a server with another key from starting, and the message says what to do', () =>
    inFolder(async (folder) => {
      rmSync(masterKeyPath(folder))
      await refused(() => readable(folder), /master\.key is missing.*restore a copy, or set SECRETS_MASTER_KEY/)
      await using store = await open(folder)
      const facts = new StoredKeyFingerprints(store)
      await refused(
        () => openVault(folder, 'another key of sixteen', facts),
        /set SECRETS_MASTER_KEY to the key of the data/,
      )
    }))

  test('cannot be decrypted in another row, or when damaged: the message says to set them again, and the server starts', () =>
    inFolder(async (folder) => {
      const db = new Database(join(folder, 'svc.db'))
      const body = db
        .prepare("select body from user_secret where user_id = '1' and workspace = '' and name = 'KEY'")
        .pluck()
        .get()
      const moved = db.prepare('update user_secret set body = ? where user_id = ? and workspace = ? and name = ?')
      moved.run(body, '2', '', 'KEY')
      moved.run(body, '1', 'w', 'KEY')
      moved.run(body, '1', '', 'K1')
      moved.run(Buffer.from('x'), '1', '', 'K2')
      refreshChecksums(db)
      db.close()
      const lines: string[] = []
      const log = createLog('info', undefined, { write: (line: string) => void lines.push(line) })
      await using server = await startServer({ data_dir: folder, log })
      const told = lines.find((line) => line.includes('stored secrets cannot be read: they must be set again'))
      assert.match(told ?? '', /"damaged":4/)
      const { secrets } = server.context.users
      for (const [owner, name] of [
        ...OTHERS.map((owner) => [owner, 'KEY'] as const),
        [LOCAL, 'K1'],
        [LOCAL, 'K2'],
      ] as const) {
        assert.throws(() => secrets.value(owner, name), {
          type: 'unknown_secret',
          message: /cannot be read\. Set it again/,
        })
        assert.equal((await secrets.get(owner, name)).is_set, true)
        await secrets.put(owner, name, 'set again')
        assert.equal(secrets.value(owner, name), 'set again')
      }
      assert.equal(secrets.value(LOCAL, 'KEY'), valueFor(LOCAL, 'KEY'))
    }))

  test('are in a backup and come back with it; a check knows their tables', () =>
    inFolder(async (folder) => {
      const [environment, target] = [{ SVC_DATA_DIR: folder }, `${folder}-backup`]
      try {
        {
          await using server = await startServer({ data_dir: folder })
          await server.context.users.settings.update(LOCAL, { 'jobs.persistence': 'session' }, '')
        }
        assert.equal((await command(runBackupCommand, [target], environment)).code, 0)
        {
          await using server = await startServer({ data_dir: folder })
          await server.context.users.secrets.delete(LOCAL, 'KEY')
          await server.context.users.settings.update(LOCAL, { 'jobs.persistence': null }, '')
        }
        assert.equal((await command(runRestoreCommand, [target, '--force'], environment)).code, 0)
        await readable(folder)
        {
          await using server = await startServer({ data_dir: folder })
          assert.equal(server.context.users.settings.runDefaults(LOCAL).persistence, 'session')
        }
        assert.equal((await command(runCheckCommand, [], environment)).code, 0)
        const db = new Database(join(folder, 'svc.db'))
        db.exec("update user_setting set value = 'no JSON'")
        db.close()
        const { code, stdout, stderr } = await command(runCheckCommand, [], environment)
        assert.equal(code, 1)
        assert.match(stdout + stderr, /the setting jobs\.persistence of user 1 is no JSON/)
        await using server = await startServer({ data_dir: folder })
        // The default must not apply: the owner has set a value, which cannot be read.
        assert.throws(() => server.context.users.settings.runDefaults(LOCAL), { code: 'DATA_DAMAGED' })
        await server.context.users.settings.update(LOCAL, { 'jobs.persistence': 'job' }, '')
        assert.equal(server.context.users.settings.runDefaults(LOCAL).persistence, 'job')
      } finally {
        rmSync(target, { recursive: true, force: true })
      }
    }))
})
