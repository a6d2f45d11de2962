// `svc check`, `svc backup` and `svc restore` with files of assets in a bucket.
import assert from 'node:assert/strict'
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join, relative } from 'node:path'
import { after, afterEach, before, beforeEach, describe, test } from 'node:test'
import { SpooledBucketStore } from '../../../src/assets/stores/spooled-bucket-store.ts'
import { runBackupCommand } from '../../../src/cli/backup/backup-command.ts'
import { runRestoreCommand } from '../../../src/cli/backup/restore-command.ts'
import { runCheckCommand } from '../../../src/cli/check.ts'
import { createLog } from '../../../src/log.ts'
import { BUCKET, type BucketServer, CREDENTIALS, startBucketServer } from '../../assets/bucket-server.ts'
import { temporaryFolder, until } from '../../helpers/server.ts'
import { command, soundFolder } from '../stored.ts'

const CONTENT = 'the bytes of an asset'

let server: BucketServer
let folder: string
let data_dir: string
let key: string
let environment: Record<string, string>
let prefixes = 0

before(async () => {
  server = await startBucketServer()
})
after(() => server[Symbol.asyncDispose]())

/** A sound data folder whose asset was moved to the bucket. */
beforeEach(async () => {
  folder = temporaryFolder()
  data_dir = join(folder, 'data')
  prefixes += 1
  const { endpoint, region } = server.settings
  environment = {
    SVC_DATA_DIR: data_dir,
    SVC_STORAGE_URL: `s3://${BUCKET}/cli-${prefixes}?endpoint=${endpoint}&region=${region}`,
    AWS_ACCESS_KEY_ID: CREDENTIALS.access_key_id,
    AWS_SECRET_ACCESS_KEY: CREDENTIALS.secret_access_key,
  }
  const file = await soundFolder(data_dir)
  key = relative(join(data_dir, 'storage', 'objects'), file)
  await using store = await openStore(data_dir)
  await until('the asset to be in the bucket', () => store.pending === 0)
  assert.equal(existsSync(file), false)
})
afterEach(() => {
  server.fault = () => null
  rmSync(folder, { recursive: true })
})

function openStore(data_dir: string): Promise<SpooledBucketStore> {
  const settings = { ...server.settings, prefix: `cli-${prefixes}` }
  const times = { pause_ms: 1, retry_ms: 2 }
  const options = { folder: 'storage', owner: 'db_1', now: Date.now, log: createLog('silent'), times }
  return SpooledBucketStore.open(join(data_dir, 'storage'), settings, options)
}

const run = (what: typeof runCheckCommand, ...args: string[]) => command(what, args, environment)

describe('svc check with a bucket', () => {
  test('reads files from the bucket that are not in the data folder', async () => {
    assert.match((await run(runCheckCommand)).stdout, / is sound: /)
    await server.put(`cli-${prefixes}/storage/${key}`, Buffer.from(CONTENT.toUpperCase()))
    const changed = await run(runCheckCommand)
    assert.equal(changed.code, 1)
    assert.match(changed.stdout, new RegExp(`the files of assets: ${key} has different content than was written\n`))
    await server.put(`cli-${prefixes}/storage/${key}`, Buffer.from('short'))
    assert.match((await run(runCheckCommand)).stdout, new RegExp(`${key} has 5 bytes instead of ${CONTENT.length}\n`))
    await using store = await openStore(data_dir)
    await store.delete(key)
    assert.match((await run(runCheckCommand)).stdout, new RegExp(`${key} is missing\n`))
  })

  test('says so where the bucket cannot be used', async () => {
    server.fault = () => ({ answer: { status: 503, code: 'SlowDown' } })
    const { code, stdout, stderr } = await run(runCheckCommand)
    assert.deepEqual([code, stdout], [1, ''])
    assert.equal(stderr, 'the bucket of SVC_STORAGE_URL cannot be used: it answered 503\n')
  })
})

describe('svc backup with a bucket', () => {
  test('copies the files in the bucket, and a restore puts them back there', async () => {
    const target = join(folder, 'backup')
    const { code, stderr } = await run(runBackupCommand, target)
    assert.equal(code, 0, stderr)
    assert.match(stderr, /1 file of assets \(21 bytes\)/)
    assert.equal(readFileSync(join(target, 'objects', key), 'utf8'), CONTENT)
    // Restores into another bucket, or into one that has lost the files.
    environment.SVC_DATA_DIR = join(folder, 'restored')
    {
      await using store = await openStore(data_dir)
      await store.delete(key)
      await until('it to be gone', () => store.pending === 0)
    }
    assert.equal((await run(runRestoreCommand, target)).code, 0)
    assert.match((await run(runCheckCommand)).stdout, / is sound: /)
    await using store = await openStore(environment.SVC_DATA_DIR)
    await until('it to be back', () => store.pending === 0)
    assert.match((await run(runCheckCommand)).stdout, / is sound: /)
    assert.equal((await store.stat(key))?.size, CONTENT.length)
  })

  test('fails if the bucket lacks a file, or cannot be used', async () => {
    const target = join(folder, 'backup')
    server.fault = ({ method }) => (method === 'GET' ? { answer: { status: 500, code: 'InternalError' } } : null)
    const refused = await run(runBackupCommand, target)
    assert.equal(refused.code, 1)
    assert.match(refused.stderr, /^the bucket of SVC_STORAGE_URL cannot be used: it answered 500 InternalError\n$/)
    server.fault = ({ method }) => (method === 'GET' ? { corrupt_answer: true } : null)
    const lacking = await run(runBackupCommand, target)
    assert.equal(lacking.code, 1)
    assert.match(lacking.stderr, new RegExp(`the backup would be incomplete[^]*${key} is missing`))
    assert.equal(existsSync(target), false)
  })
})
