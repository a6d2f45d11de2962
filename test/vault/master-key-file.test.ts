// Tests the file of the master key, and which key opens a vault.
import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { StartError } from '../../src/start-error.ts'
import {
  generateMasterKey,
  masterKeyPath,
  nextMasterKeyPath,
  readKeyFile,
  restrictKeyFile,
  writeKeyFile,
} from '../../src/vault/master-key-file.ts'
import { createVault, openVault, type VaultKeyRecord } from '../../src/vault/open-vault.ts'
import { inFolder } from '../helpers/folder.ts'
import { startServer } from '../helpers/server.ts'

/** The key record of a database. */
class Remembered implements VaultKeyRecord {
  kept: string | null
  going: string | null = null
  sealed: boolean
  constructor(kept: string | null, sealed: boolean) {
    this.kept = kept
    this.sealed = sealed
  }
  fingerprint() {
    return this.kept
  }
  next() {
    return this.going
  }
  holdsSealed() {
    return this.sealed
  }
  async keep(fingerprint: string) {
    this.kept = fingerprint
  }
}

const GIVEN = 'sixteen letters!'
const OTHER = 'sixteen other letters'

async function refused(opening: Promise<unknown>, message: RegExp): Promise<void> {
  await assert.rejects(opening, (error) => {
    assert.ok(error instanceof StartError, String(error))
    assert.match(error.message, message)
    assert.ok(!error.message.includes('\n') && !error.message.includes(GIVEN) && !error.message.includes(OTHER))
    return true
  })
}

describe('the key file', () => {
  test('has a generated key of 32 random bytes', () => {
    assert.equal(Buffer.from(generateMasterKey(false), 'base64url').length, 32)
    assert.match(generateMasterKey(), /^[\w-]{43}\.made$/)
    assert.notEqual(generateMasterKey(), generateMasterKey())
  })

  test(
    'is one line that only its owner may read, and leaves no other file',
    inFolder((folder) => {
      const key = generateMasterKey()
      writeFileSync(`${masterKeyPath(folder)}.draft`, 'left by a crash')
      writeKeyFile(masterKeyPath(folder), key)
      assert.equal(readFileSync(masterKeyPath(folder), 'utf8'), `${key}\n`)
      assert.equal(readKeyFile(masterKeyPath(folder)), key)
      assert.deepEqual(readdirSync(folder), ['master.key'])
      if (process.platform !== 'win32') assert.equal(statSync(masterKeyPath(folder)).mode & 0o777, 0o600)
      assert.equal(restrictKeyFile(masterKeyPath(folder)), null)
    }),
  )

  test(
    'that others may read is made private, and a warning is returned',
    { skip: process.platform === 'win32' },
    inFolder((folder) => {
      const path = masterKeyPath(folder)
      assert.equal(restrictKeyFile(path), null)
      writeKeyFile(path, generateMasterKey())
      for (const mode of [0o640, 0o604, 0o660]) {
        chmodSync(path, mode)
        assert.match(restrictKeyFile(path)!, new RegExp(`\\(mode ${mode.toString(8)}\\) and is private now; .*rotate`))
        assert.equal(statSync(path).mode & 0o777, 0o600)
        assert.equal(restrictKeyFile(path), null)
      }
    }),
  )

  test(
    'that is empty, too short or unreadable is refused',
    inFolder((folder) => {
      const path = masterKeyPath(folder)
      assert.equal(readKeyFile(path), null)
      for (const [content, message] of [
        ['', /is empty; restore a copy/],
        [' \n', /is empty/],
        ['fifteen letters\n', /holds less than 16 characters/],
      ] as const) {
        writeFileSync(path, content)
        assert.throws(() => readKeyFile(path), message)
        assert.throws(() => readKeyFile(path), StartError)
      }
      rmSync(path)
      mkdirSync(path)
      assert.throws(() => readKeyFile(path), /cannot be read \(EISDIR\)/)
      assert.throws(() => writeKeyFile(join(folder, 'none', 'master.key'), GIVEN), /cannot be written \(ENOENT\)/)
    }),
  )
})

describe('opening the vault', () => {
  test(
    'the first time generates a key, which later starts find',
    inFolder(async (folder) => {
      const record = new Remembered(null, false)
      const first = await openVault(folder, null, record)
      assert.equal(record.kept, first.vault.fingerprint)
      assert.equal(first.key, readKeyFile(masterKeyPath(folder)))
      record.sealed = true
      const second = await openVault(folder, null, record)
      assert.deepEqual([second.key, second.vault.fingerprint], [first.key, first.vault.fingerprint])
    }),
  )

  test(
    'a given key takes precedence over the file, and no file is made',
    inFolder(async (folder) => {
      const record = new Remembered(null, false)
      const { vault, key, warning } = await openVault(folder, GIVEN, record)
      assert.deepEqual([vault.fingerprint, key, warning], [createVault(GIVEN).fingerprint, GIVEN, null])
      assert.equal(existsSync(masterKeyPath(folder)), false)
      writeKeyFile(masterKeyPath(folder), OTHER)
      assert.equal((await openVault(folder, GIVEN, record)).key, GIVEN)
    }),
  )

  test(
    'the content of the file may be given instead',
    inFolder(async (folder) => {
      const record = new Remembered(null, false)
      const { key, vault } = await openVault(folder, null, record)
      record.sealed = true
      assert.equal((await openVault(folder, key, record)).vault.fingerprint, vault.fingerprint)
    }),
  )

  test(
    'another key is accepted while nothing is sealed, and refused afterwards',
    inFolder(async (folder) => {
      const record = new Remembered(createVault(OTHER).fingerprint, false)
      await openVault(folder, GIVEN, record)
      assert.equal(record.kept, createVault(GIVEN).fingerprint)
      record.sealed = true
      await refused(openVault(folder, OTHER, record), /encrypted under another key than that of SECRETS_MASTER_KEY/)
      writeKeyFile(masterKeyPath(folder), OTHER)
      await refused(openVault(folder, null, record), /another key than that of .*master\.key; set SECRETS_MASTER_KEY/)
      assert.equal(record.kept, createVault(GIVEN).fingerprint)
    }),
  )

  test(
    'a missing file is not made again if data needs it',
    inFolder(async (folder) => {
      const record = new Remembered(createVault(GIVEN).fingerprint, true)
      await refused(openVault(folder, null, record), /master\.key is missing, and stored data needs it/)
      assert.deepEqual(readdirSync(folder), [])
    }),
  )

  test(
    'an interrupted change of the key must be completed first',
    inFolder(async (folder) => {
      const record = new Remembered(createVault(GIVEN).fingerprint, true)
      record.going = createVault(OTHER).fingerprint
      await refused(openVault(folder, GIVEN, record), /was interrupted; complete it with "svc secrets rotate"/)
      record.going = null
      writeKeyFile(nextMasterKeyPath(folder), GIVEN)
      await refused(openVault(folder, null, record), /was interrupted/)
      writeKeyFile(masterKeyPath(folder), OTHER)
      await refused(openVault(folder, null, record), /was interrupted/)
    }),
  )

  test('a server generates its key at the first start, and does not reveal it', async () => {
    await using server = await startServer()
    const key = readKeyFile(masterKeyPath(server.data_dir))!
    assert.equal(server.context.users.vault.fingerprint, createVault(key).fingerprint)
    assert.equal(server.context.users.redactor.text(`the key is ${key}`), 'the key is [redacted]')
  })
})
