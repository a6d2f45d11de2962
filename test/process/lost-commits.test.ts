// A database that lacks acknowledged commits. The start reports the missing commits, and
// continues without them only after an operator has accepted the loss.
import assert from 'node:assert/strict'
import { copyFileSync, cpSync, existsSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { JobSnapshot, RunResult } from '../../generated/types.ts'
import { runBackupCommand } from '../../src/cli/backup/backup-command.ts'
import { runRestoreCommand } from '../../src/cli/backup/restore-command.ts'
import { runCheckCommand as runCheck } from '../../src/cli/check.ts'
import { runCompactCommand } from '../../src/cli/compact.ts'
import { openDataFolder } from '../../src/db/files/data-folder.ts'
import { commitMarkPath, readCommitMark, type StoredCommitMark } from '../../src/db/loss-detection/commit-mark-file.ts'
import { StartError } from '../../src/start-error.ts'
import { generateMasterKey, writeKeyFile } from '../../src/vault/master-key-file.ts'
import { command } from '../cli/stored.ts'
import { call } from '../helpers/http.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { serve, svc } from '../helpers/process.ts'
import { startServer, temporaryFolder } from '../helpers/server.ts'

const EARLIER = 5
const JOBS = 20

/** A data folder whose server was killed after it had acknowledged the jobs, and an older one whose server was closed. */
let killed: string
let older: string

async function runJobs(url: string, count: number): Promise<void> {
  for (let job = 0; job < count; job++) {
    const body = { params: { name: `Ada ${job}` } }
    const { status, text } = await call<RunResult>({ url }, 'POST', '/api/workflows/greeting/run', { body })
    assert.equal(status, 200, text)
  }
}

before(async () => {
  killed = temporaryFolder()
  older = temporaryFolder()
  {
    await using first = await startServer({ data_dir: killed })
    await runJobs(first.url, EARLIER)
  }
  copyFileSync(join(killed, 'svc.db'), join(older, 'svc.db'))
  await using second = await serve(killed)
  await runJobs(second.url, JOBS)
  second.kill('SIGKILL')
  await second.ended()
})

after(() => {
  for (const folder of [killed, older]) rmSync(folder, { recursive: true, force: true })
})

interface Copy extends Disposable {
  readonly folder: string
  readonly database: string
  readonly log: string
}

function copyOf(source = killed): Copy {
  const folder = temporaryFolder()
  cpSync(source, folder, { recursive: true })
  const database = join(folder, 'svc.db')
  return {
    folder,
    database,
    log: `${database}-wal`,
    [Symbol.dispose]: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Returns the error of the server's start. */
async function refusal(data_dir: string): Promise<string> {
  try {
    await using server = await startServer({ data_dir })
    assert.fail(`it serves ${server.url}`)
  } catch (error) {
    assert.ok(error instanceof StartError, String((error as Error).stack))
    return error.message
  }
}

async function jobsOf(data_dir: string): Promise<number> {
  await using server = await startServer({ data_dir })
  return (await call<JobSnapshot[]>(server, 'GET', '/api/jobs?limit=200')).body.length
}

const check = (data_dir: string, ...args: string[]) => command(runCheck, args, { SVC_DATA_DIR: data_dir })

const LACKS =
  /svc\.db lacks the last \d+ commits: commit \d+ of \d{4}-\S+Z was acknowledged, and it ends with commit \d+ of \d{4}-\S+Z; put back .* or restore .* "svc check --accept-loss"/
const IS_MISSING =
  /svc\.db is missing, and \d+ commits to it were acknowledged, the last at \d{4}-\S+Z; put it back, or/

interface Damage {
  readonly what: string
  readonly act: (copy: Copy) => void
  readonly told: RegExp
}

const DAMAGES: readonly Damage[] = [
  { what: 'its log deleted', act: ({ log }) => rmSync(log), told: LACKS },
  { what: 'its log emptied', act: ({ log }) => truncateSync(log), told: LACKS },
  { what: 'its log cut', act: ({ log }) => truncateSync(log, Math.floor(statSync(log).size / 2)), told: LACKS },
  { what: 'a byte of its log changed', act: ({ log }) => flip(log, Math.floor(statSync(log).size / 2)), told: LACKS },
  { what: 'the first byte of its log changed', act: ({ log }) => flip(log, 0), told: LACKS },
  {
    what: 'its database replaced by an older one',
    act: ({ database, log }) => {
      rmSync(log)
      copyFileSync(join(older, 'svc.db'), database)
    },
    told: LACKS,
  },
  {
    what: 'its database and log deleted',
    act: ({ database }) => {
      for (const ending of ['', '-wal', '-shm']) rmSync(database + ending)
    },
    told: IS_MISSING,
  },
  {
    what: 'its database deleted',
    act: ({ database }) => rmSync(database),
    told: IS_MISSING,
  },
]

function flip(path: string, at: number): void {
  const bytes = readFileSync(path)
  bytes[at] = bytes[at]! ^ 0x10
  writeFileSync(path, bytes)
}

describe('a killed server’s folder', () => {
  for (const { what, act, told } of DAMAGES)
    test(`with ${what} is refused, and nothing is changed`, async () => {
      using copy = copyOf()
      act(copy)
      const bytes = () =>
        [copy.database, copy.log].map((path) =>
          existsSync(path) && statSync(path).size > 0 ? readFileSync(path) : null,
        )
      const found = bytes()
      assert.match(await refusal(copy.folder), told)
      assert.deepEqual(bytes(), found)
      const { code, stdout } = await check(copy.folder)
      assert.equal(code, 1)
      assert.match(stdout, told)
    })

  test('is served whole where its log is put back after the refusal', async () => {
    using copy = copyOf()
    rmSync(copy.log)
    await refusal(copy.folder)
    copyFileSync(join(killed, 'svc.db-wal'), copy.log)
    assert.equal(await jobsOf(copy.folder), EARLIER + JOBS)
  })

  test('is served whole as it is, without its index, and after another program has copied the log', async () => {
    using copy = copyOf()
    rmSync(`${copy.database}-shm`, { force: true })
    assert.equal(await jobsOf(copy.folder), EARLIER + JOBS)
    assert.equal(await jobsOf(copy.folder), EARLIER + JOBS)
    using other = copyOf()
    const db = new Database(other.database)
    db.pragma('wal_checkpoint(TRUNCATE)')
    db.close()
    assert.equal(existsSync(other.log), false)
    assert.equal(await jobsOf(other.folder), EARLIER + JOBS)
  })

  test('is served whole after compaction, and still checked against its commits', async () => {
    using copy = copyOf()
    assert.equal((await command(runCompactCommand, [], { SVC_DATA_DIR: copy.folder })).code, 0)
    assert.equal(await jobsOf(copy.folder), EARLIER + JOBS)
    copyFileSync(join(older, 'svc.db'), copy.database)
    assert.match(await refusal(copy.folder), LACKS)
  })

  test('restarts its count with a restored backup, even where only the mark was left', async () => {
    using copy = copyOf()
    using backups = copyOf(older)
    const backup_dir = join(backups.folder, 'backup')
    assert.equal((await command(runBackupCommand, [backup_dir], { SVC_DATA_DIR: copy.folder })).code, 0)
    for (const ending of ['', '-wal', '-shm']) rmSync(copy.database + ending)
    assert.match(await refusal(copy.folder), IS_MISSING)
    const restored = await command(runRestoreCommand, [backup_dir], { SVC_DATA_DIR: copy.folder })
    assert.equal(restored.code, 0, restored.stderr)
    assert.equal(existsSync(commitMarkPath(copy.database)), false)
    assert.equal(await jobsOf(copy.folder), EARLIER + JOBS)
    assert.notEqual(readCommitMark(commitMarkPath(copy.database)), null)
  })

  test('without its log ends the server’s process with one line', async () => {
    using copy = copyOf()
    rmSync(copy.log)
    const { code, stdout, stderr } = await svc(['serve', '--port', '0'], { SVC_DATA_DIR: copy.folder })
    assert.deepEqual([code, stdout], [1, ''])
    assert.match(stderr, LACKS)
    assert.equal(stderr.trimEnd().split('\n').length, 1)
  })

  test('with a damaged mark is served, and the log says so', async () => {
    using copy = copyOf()
    writeFileSync(commitMarkPath(copy.database), Buffer.alloc(1024))
    const { log, lines } = keptLog()
    {
      await using server = await startServer({ data_dir: copy.folder, log })
      assert.equal((await call<JobSnapshot[]>(server, 'GET', '/api/jobs?limit=200')).body.length, EARLIER + JOBS)
    }
    assert.equal(lines.filter((line) => line.includes('is damaged: a new one is written')).length, 1)
    assert.notEqual(readCommitMark(commitMarkPath(copy.database)), 'damaged')
  })

  test('is served without a mark, as one of an older version, and is marked from then on', async () => {
    using copy = copyOf()
    rmSync(commitMarkPath(copy.database))
    {
      await using server = await startServer({ data_dir: copy.folder })
      await runJobs(server.url, 1)
    }
    copyFileSync(join(older, 'svc.db'), copy.database)
    assert.match(await refusal(copy.folder), LACKS)
  })

  test('is checked against the older slot of a mark whose newer slot is torn', async () => {
    using copy = copyOf()
    const { number } = readCommitMark(commitMarkPath(copy.database)) as StoredCommitMark
    flip(commitMarkPath(copy.database), (number % 2) * 512 + 20)
    assert.equal((readCommitMark(commitMarkPath(copy.database)) as StoredCommitMark).number, number - 1)
    rmSync(copy.log)
    assert.match(await refusal(copy.folder), LACKS)
  })
})

/** Returns the log lines about an accepted loss. */
async function acceptedLines(data_dir: string): Promise<Record<string, unknown>[]> {
  const { log, lines } = keptLog()
  await using _server = await startServer({ data_dir, log })
  return lines
    .filter((line) => line.includes('--accept-loss'))
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}

describe('svc check --accept-loss', () => {
  test('lets the next start continue without the missing commits, which the log reports once', async () => {
    using copy = copyOf()
    rmSync(copy.log)
    const accepted = await check(copy.folder, '--accept-loss')
    assert.equal(accepted.code, 0, accepted.stdout)
    assert.match(
      accepted.stdout,
      /^accepted: \S+svc\.db lacks the last \d+ commits: .*; the next start continues without it\n/,
    )
    const lines = await acceptedLines(copy.folder)
    assert.equal(lines.length, 1)
    const { acknowledged_commit, found_commit, acknowledged_at, lost } = lines[0]!
    assert.ok((acknowledged_commit as number) > (found_commit as number))
    assert.match(String(acknowledged_at), /^\d{4}-\S+Z$/)
    assert.match(String(lost), /svc\.db lacks the last/)
    assert.deepEqual(await acceptedLines(copy.folder), [])
    assert.equal(await jobsOf(copy.folder), EARLIER)
  })

  test('lets the next start begin anew where only the mark is left', async () => {
    using copy = copyOf()
    for (const ending of ['', '-wal', '-shm']) rmSync(copy.database + ending)
    const accepted = await check(copy.folder, '--accept-loss')
    assert.match(accepted.stdout, /^accepted: \S+svc\.db is missing, .*; the next start continues without it\n$/)
    assert.equal(accepted.code, 0)
    assert.equal((await acceptedLines(copy.folder)).length, 1)
    assert.equal(await jobsOf(copy.folder), 0)
  })

  test('accepts nothing where nothing is missing, and nothing while a server runs', async () => {
    using copy = copyOf()
    const none = await check(copy.folder, '--accept-loss')
    assert.match(none.stdout, /^\S+svc\.db is sound: /)
    assert.deepEqual(await acceptedLines(copy.folder), [])
    using other = copyOf()
    rmSync(other.log)
    {
      using _owned = openDataFolder(other.folder, 'a server')
      assert.match((await check(other.folder, '--accept-loss')).stderr, /belongs to a running server/)
    }
    assert.match(await refusal(other.folder), LACKS)
  })
})

describe('a key without its database', () => {
  test('is refused until the loss is accepted, where the server created it', async () => {
    const folder = temporaryFolder()
    try {
      writeKeyFile(join(folder, 'master.key'), generateMasterKey())
      assert.match(
        await refusal(folder),
        /svc\.db is missing, and the key in master\.key was generated for a database that existed; put it back, or restore/,
      )
      assert.equal((await check(folder)).code, 1)
      assert.equal((await check(folder, '--accept-loss')).code, 0)
      const [line] = await acceptedLines(folder)
      assert.match(String(line?.lost), /the key in master\.key/)
      assert.equal(await jobsOf(folder), 0)
    } finally {
      rmSync(folder, { recursive: true, force: true })
    }
  })

  test('is accepted where an operator or a server with an in-memory database created it', async () => {
    for (const key of ['a key that an operator has chosen', generateMasterKey(false)]) {
      const folder = temporaryFolder()
      try {
        writeKeyFile(join(folder, 'master.key'), key)
        assert.equal(await jobsOf(folder), 0)
        assert.equal(statSync(commitMarkPath(join(folder, 'svc.db'))).mode & 0o777, 0o600)
      } finally {
        rmSync(folder, { recursive: true, force: true })
      }
    }
  })
})
