// Backup and restore of running servers. A backup is made under load and restored, and contains every job that was acknowledged before.
import assert from 'node:assert/strict'
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { RunResult } from '../../generated/types.ts'
import { openDataFolder } from '../../src/db/files/data-folder.ts'
import { soundFolder } from '../cli/stored.ts'
import { refreshChecksums } from '../helpers/checksums.ts'
import { call } from '../helpers/http.ts'
import { MAIN, runProcess, serve, svc } from '../helpers/process.ts'
import { scaled } from '../helpers/scale.ts'
import { temporaryFolder, until } from '../helpers/server.ts'

let folder: string

before(() => {
  folder = temporaryFolder()
})

after(() => rmSync(folder, { recursive: true, force: true }))

interface Load {
  readonly acknowledged: readonly string[]
  /** Ends the load after the last answers. */
  stop(): Promise<void>
}

/** Submits jobs from eight concurrent callers, each one job after the other. */
function load(server: { url: string }): Load {
  const acknowledged: string[] = []
  let stopped = false
  const callers = Array.from({ length: 8 }, async () => {
    while (!stopped) {
      const body = { params: { name: 'x'.repeat(2_000) }, background: true }
      const answer = await call<RunResult>(server, 'POST', '/api/workflows/greeting/run', { body })
      if (answer.status === 202) acknowledged.push(answer.body.job_id)
      else assert.ok([429, 503].includes(answer.status), answer.text)
    }
  })
  const ended = Promise.all(callers)
  // The rejection reaches the caller that stops the load.
  ended.catch(() => {})
  return {
    acknowledged,
    async stop() {
      stopped = true
      await ended
    },
  }
}

function jobIds(data_dir: string): Set<string> {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    return new Set(db.prepare('select id from job').pluck().all() as string[])
  } finally {
    db.close()
  }
}

function unfinished(data_dir: string): number {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    return db.prepare('select count(*) from job where finished_at is null').pluck().get() as number
  } finally {
    db.close()
  }
}

describe('a server under load', () => {
  test('is backed up at one moment, restored elsewhere, and continues there', {
    timeout: 90_000,
  }, async () => {
    const data_dir = join(folder, 'data')
    const first = join(folder, 'first')
    const second = join(folder, 'second')
    let before: string[]
    let after: string[]
    {
      await using server = await serve(data_dir)
      const loaded = load(server)
      await until('jobs', () => loaded.acknowledged.length >= scaled(100))
      before = [...loaded.acknowledged]
      const { code, stderr } = await svc(['backup', first], { SVC_DATA_DIR: data_dir })
      assert.equal(code, 0, stderr)
      after = [...loaded.acknowledged]
      assert.ok(after.length > before.length, 'the server went on meanwhile')
      const checked = await svc(['check'], { SVC_DATA_DIR: data_dir })
      assert.equal(checked.code, 0, checked.stdout)
      // A server that dies meanwhile leaves a write-ahead log, which belongs to the backup.
      server.kill('SIGKILL')
      await assert.rejects(loaded.stop())
      after = [...loaded.acknowledged]
      assert.equal((await svc(['backup', second], { SVC_DATA_DIR: data_dir })).code, 0)
    }
    for (const [backup, acknowledged] of [
      [first, before],
      [second, after],
    ] as const) {
      const restored = `${backup}-restored`
      const brought = await svc(['restore', backup], { SVC_DATA_DIR: restored })
      assert.equal(brought.code, 0, brought.stderr)
      const checked = await svc(['check'], { SVC_DATA_DIR: restored })
      assert.equal(checked.code, 0, checked.stdout)
      const found = jobIds(restored)
      assert.deepEqual(
        acknowledged.filter((id) => !found.has(id)),
        [],
      )
    }
    const environment = { SVC_DATA_DIR: `${first}-restored` }
    // The unfinished jobs need the key that encrypted them.
    copyFileSync(join(data_dir, 'master.key'), join(environment.SVC_DATA_DIR, 'master.key'))
    await using server = await serve(environment.SVC_DATA_DIR)
    await until('the end of every job', () => unfinished(environment.SVC_DATA_DIR) === 0)
    assert.equal((await call(server, 'GET', '/health')).status, 200)
    const checked = await svc(['check'], environment)
    assert.equal(checked.code, 0, checked.stdout)
    assert.match((await svc(['restore', first, '--force'], environment)).stderr, /belongs to a running server/)
  })
})

describe('svc restore', () => {
  test('leaves the old data usable when it is killed while it copies', async () => {
    const [data_dir, source] = [join(folder, 'old'), join(folder, 'other')]
    await soundFolder(data_dir)
    await soundFolder(source)
    const db = new Database(join(source, 'svc.db'))
    // Large files, so that copying and reading them takes a while.
    db.exec("insert into meta (name, value) values ('pad', hex(randomblob(10000000)))")
    refreshChecksums(db)
    db.close()
    const backup = join(folder, 'killed')
    assert.equal((await svc(['backup', backup], { SVC_DATA_DIR: source })).code, 0)
    {
      await using restoring = runProcess(MAIN, ['restore', backup, '--force'], { SVC_DATA_DIR: data_dir })
      await until('copies', () => existsSync(join(data_dir, 'restore-incoming')))
      restoring.kill('SIGKILL')
      assert.equal((await restoring.ended()).signal, 'SIGKILL')
    }
    const pads = () => {
      using owned = openDataFolder(data_dir, 'a server')
      const db = new Database(owned.database, { readonly: true })
      try {
        return db.prepare("select count(*) from meta where name = 'pad'").pluck().get()
      } finally {
        db.close()
      }
    }
    assert.equal(pads(), 0)
    assert.equal((await svc(['restore', backup, '--force'], { SVC_DATA_DIR: data_dir })).code, 0)
    assert.equal(pads(), 1)
    assert.equal(existsSync(join(data_dir, 'restore-incoming')), false)
  })
})
