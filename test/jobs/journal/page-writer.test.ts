// Large values in job journals: they are in encrypted files, survive a kill of the process, and are removed with their journals.
import assert from 'node:assert/strict'
import {
  appendFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { JobError } from '../../../generated/types.ts'
import { runBackupCommand } from '../../../src/cli/backup/backup-command.ts'
import { runRestoreCommand } from '../../../src/cli/backup/restore-command.ts'
import { runCheckCommand } from '../../../src/cli/check.ts'
import { rotateMasterKey } from '../../../src/cli/master-key-rotation.ts'
import { journalFolderPath, journalLeasesFolderPath } from '../../../src/db/files/data-folder.ts'
import { findJobByKey } from '../../../src/db/jobs/rows.ts'
import { isSpilledValueStored, releaseSpilledValues } from '../../../src/db/jobs/spilled-values.ts'
import { Store } from '../../../src/db/store.ts'
import type { Graph } from '../../../src/engine/compile/graph.ts'
import { UnreadValue } from '../../../src/engine/durability/journal.ts'
import { NodeError } from '../../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../../src/engine/node-api/node-type.ts'
import { JobJournal } from '../../../src/jobs/journal/job-journal.ts'
import type { JournalStorage } from '../../../src/jobs/journal/page-writer.ts'
import { deleteJob } from '../../../src/jobs/queries.ts'
import { SPILL_THRESHOLD, SpilledValueStore } from '../../../src/jobs/values/spilled-value-store.ts'
import { systemPlatform } from '../../../src/platform.ts'
import { runToCompletion } from '../../../src/shared/time-slices.ts'
import { Vault } from '../../../src/vault/vault.ts'
import { command } from '../../cli/stored.ts'
import { graph, item, node, output, sink, source, testType, value } from '../../engine/kit.ts'
import { FolderCopies, inFolder } from '../../helpers/folder.ts'
import { scaled } from '../../helpers/scale.ts'
import { temporaryFolder, until } from '../../helpers/server.ts'
import { openStore } from '../../helpers/store.ts'
import {
  coded,
  ended,
  type GatedServer,
  gated,
  history,
  journalBytes,
  OWNER,
  outputs,
  startGated,
  submit,
  words,
} from '../kit.ts'

/** A text that must not be in any file. */
const MARK = 'the words of somebody, which are nobody else’s business. '
const BYTES = new Uint8Array(Buffer.from(MARK.repeat(20_000)))
const LONE = `\ud800${MARK.repeat(10_000)}`

/** Values of every kind that may be large, by name. */
const VALUES: Readonly<Record<string, unknown>> = {
  bytes: BYTES,
  text: LONE,
  picture: { type: 'image', data: BYTES, name: 'a.png' },
  list: [BYTES.subarray(7, 600_007), { deep: [Buffer.from(BYTES), new Float32Array(100_000).fill(1.5)] }, BYTES],
  rows: Array.from({ length: 30_000 }, (_, at) => ({ at, name: `row ${at}`, none: null })),
  wide: { numbers: new Float64Array(50_000).fill(Math.PI), view: new DataView(new ArrayBuffer(300_000), 5) },
}

/** Node types with asynchronous results, and how often each of their firings ran. */
class Makers {
  readonly runs: string[] = []
  fail = true

  get types(): NodeType[] {
    const later = () => new Promise((resolve) => setImmediate(resolve))
    return [
      testType('test.Make', {
        properties: [{ ...value, required: false }],
        outputs: [output],
        run: async (_, { node_id }) => {
          await later()
          this.runs.push(node_id)
          return { output: VALUES[node_id] }
        },
      }),
      testType('test.Pages', { outputs: [item], repeats: true, run: () => this.#pages() }),
      testType('test.Fail', {
        properties: [value],
        outputs: [output],
        run: async ({ value: given }) => {
          await later()
          if (this.fail) throw new NodeError('It fails.')
          return { output: given }
        },
      }),
    ]
  }

  async *#pages() {
    for (let at = 0; at < PAGES; at++) {
      this.runs.push(`page ${at}`)
      yield { item: page(at) }
      if (at % 7 === 0) await new Promise((resolve) => setTimeout(resolve, 1))
    }
  }
}

const PAGES = scaled(40)
const page = (at: number) => ({ at, bytes: new Uint8Array(SPILL_THRESHOLD).fill(at) })

/** Passes a value through a gate to the output. */
const through = (name: string): Graph =>
  graph(
    [source('long', 'short'), node(name, 'test.Make'), node('gate', 'test.Gate'), sink('out')],
    [`${name}.output->gate.value`, 'gate.output->out.value'],
  )

/** Opens the gate for each waiting value, with the value's number as the result. */
function pass({ gate }: GatedServer): void {
  for (const entry of [...gate.waiting]) entry.open((entry.value as { at: number }).at)
}

const filesOf = (data_dir: string): string[] =>
  readdirSync(journalFolderPath(data_dir), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort()

/** The rows of large values in the database. */
function rowsOf(data_dir: string): { content_key: string; job_key: number | null; size: number; sha256: string }[] {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    return db.prepare('select * from spilled_value order by content_key').all() as never
  } finally {
    db.close()
  }
}

/** Each row has its file, each file its row. */
function consistent(data_dir: string): void {
  assert.deepEqual(
    rowsOf(data_dir).map(({ content_key }) => join(journalFolderPath(data_dir), content_key)),
    filesOf(data_dir),
  )
}

/** Sweeps until a deleted job is gone. On a busy machine its removal may not finish in a few milliseconds, and the sweep removes the rest. */
async function untilRemoved({ data_dir, context }: GatedServer, what: string, isGone: () => boolean): Promise<void> {
  await until(`${what} to go`, async () => {
    if (isGone()) return true
    if (hasRemains(data_dir)) await context.runs.retention.sweep()
    return false
  })
}

function hasRemains(data_dir: string): boolean {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    return db.prepare('select count(*) from job_doomed').pluck().get() !== 0
  } finally {
    db.close()
  }
}

const errorOf = (error: string | null) => JSON.parse(error ?? 'null') as JobError | null

/** Runs a graph until the gate has its value, and all is committed. */
async function toGate(server: GatedServer, of: Graph, params = {}, scope = OWNER) {
  const { waiting } = server.gate
  const before = waiting.length
  const job = submit(server, { graph: of, params }, scope)
  const entry = await until('the gate', () => waiting.length > before && waiting.at(-1))
  await job.flushed()
  return { job, entry }
}

describe('a large value between nodes', () => {
  test(
    'is in an encrypted file beside the database, which shows nothing of it',
    inFolder(async (data_dir) => {
      const makers = new Makers()
      await using server = await startGated({ data_dir, types: makers.types })
      const text = MARK.repeat(8_000)
      const { entry, job } = await toGate(server, through('bytes'), { long: text })
      const [first, second, ...more] = filesOf(data_dir)
      assert.ok(first && second && more.length === 0, 'the parameters and the value')
      consistent(data_dir)
      assert.ok(journalBytes(data_dir) < 20_000)
      for (const name of readdirSync(data_dir, { recursive: true, encoding: 'utf8' })) {
        const path = join(data_dir, name)
        if (statSync(path).isFile()) assert.ok(!readFileSync(path).includes(MARK.slice(0, 20)), name)
      }
      for (const path of filesOf(data_dir)) assert.equal(statSync(path).mode & 0o777, 0o600)
      entry.open('over')
      const row = await ended(server, job.row.id)
      assert.deepEqual(outputs(row), { out: 'over' })
      await until('the files to go', () => filesOf(data_dir).length === 0 && rowsOf(data_dir).length === 0)
    }),
  )

  for (const name of Object.keys(VALUES))
    test(
      `comes back after a kill as it was: ${name}`,
      inFolder(async (data_dir) => {
        using copies = new FolderCopies(data_dir)
        const makers = new Makers()
        let id: string
        {
          await using first = await startGated({ data_dir, types: makers.types })
          const { job } = await toGate(first, through(name))
          id = job.row.id
          assert.equal(filesOf(data_dir).length, 1)
          copies.take()
        }
        const again = new Makers()
        await using second = await startGated({ data_dir: copies.paths[0]!, types: again.types })
        const entry = await until('the gate again', () => second.gate.waiting[0])
        assert.deepEqual(entry.value, VALUES[name])
        assert.deepEqual([makers.runs, again.runs], [[name], []])
        entry.open('x')
        assert.deepEqual(outputs(await ended(second, id)), { out: 'x' })
        await until('no files', () => filesOf(copies.paths[0]!).length === 0)
      }),
    )

  test(
    'stays in its page where it is smaller than the threshold',
    inFolder(async (data_dir) => {
      const small = testType('test.Small', {
        outputs: [output],
        run: async () => ({ output: new Uint8Array(SPILL_THRESHOLD - 100) }),
      })
      const large = testType('test.Large', {
        outputs: [output],
        run: async () => ({ output: new Uint8Array(SPILL_THRESHOLD) }),
      })
      await using server = await startGated({ data_dir, types: [small, large] })
      const of = (type: string) =>
        graph(
          [node('a', type), node('gate', 'test.Gate'), sink('out')],
          ['a.output->gate.value', 'gate.output->out.value'],
        )
      await toGate(server, of('test.Small'))
      assert.deepEqual(filesOf(data_dir), [])
      await toGate(server, of('test.Large'))
      assert.equal(filesOf(data_dir).length, 1)
    }),
  )

  test(
    'is stored for each item of an endless stream, and a kill at any time loses no item that was seen',
    inFolder(async (data_dir) => {
      using copies = new FolderCopies(data_dir)
      const of = graph(
        [node('pages', 'test.Pages'), node('gate', 'test.Gate'), sink('out')],
        ['pages.item->gate.value', 'gate.output->out.value'],
      )
      let id: string
      {
        await using first = await startGated({ data_dir, types: new Makers().types })
        const job = submit(first, { graph: of })
        id = job.row.id
        await job.accepted()
        await until('some on their way', () => first.gate.waiting.length > 0)
        for (let round = 0; round < 3; round++) {
          await until('the next files', () => filesOf(data_dir).length > round * 3)
          pass(first)
          copies.take()
        }
      }
      for (const path of copies.paths) {
        // A copy is not a snapshot: its part of the database is from before most of the files.
        for (const { content_key } of rowsOf(path)) assert.ok(existsSync(join(journalFolderPath(path), content_key)))
        await using next = await startGated({ data_dir: path, types: new Makers().types })
        const passing = setInterval(() => pass(next), 1)
        try {
          const row = await ended(next, id)
          assert.deepEqual(outputs(row), { out: Array.from({ length: PAGES }, (_, at) => at) })
          await history(next, row)
        } finally {
          clearInterval(passing)
        }
      }
    }),
  )

  test(
    'is not written to a file where its job completes before',
    inFolder(async (data_dir) => {
      await using server = await startGated({ data_dir, types: new Makers().types })
      const rounds = scaled(5)
      for (let round = 0; round < rounds; round++) {
        const of = graph(
          [
            node('bytes', 'test.Make'),
            node('rows', 'test.Make'),
            node('count', 'list.Length'),
            source('long', 'short'),
            sink('out'),
          ],
          ['rows.output->count.list', 'count.output->out.value'],
        )
        const job = submit(server, { graph: of, params: { long: LONE } })
        await job.settled()
        assert.equal(job.row.status, 'completed', String(job.row.error))
        assert.deepEqual(outputs(job.row), { out: 30_000 })
      }
      await until('nothing to be left', () => filesOf(data_dir).length === 0 && rowsOf(data_dir).length === 0)
    }),
  )
})

describe('a corrupt file of a large value', () => {
  const SPOILT: Record<string, (path: string) => void> = {
    missing: (path) => rmSync(path),
    changed: (path) => {
      const bytes = readFileSync(path)
      bytes[bytes.length >> 1]! ^= 1
      writeFileSync(path, bytes)
    },
    'cut off': (path) => writeFileSync(path, readFileSync(path).subarray(0, 1000)),
    longer: (path) => appendFileSync(path, 'x'),
    'a folder': (path) => {
      rmSync(path)
      mkdirSync(path)
    },
  }
  for (const [how, spoil] of Object.entries(SPOILT))
    test(
      `fails its job with the reason, and no other job: ${how}`,
      inFolder(async (data_dir) => {
        let id: string
        {
          await using first = await startGated({ data_dir, types: new Makers().types })
          id = (await toGate(first, through('bytes'))).job.row.id
        }
        spoil(filesOf(data_dir)[0]!)
        const found = await command(runCheckCommand, [], { SVC_DATA_DIR: data_dir })
        assert.equal(found.code, 1)
        assert.match(found.stdout, /^the files of journals: \S+ (is missing|has )/)
        await using second = await startGated({ data_dir, types: new Makers().types })
        const row = await ended(second, id)
        assert.equal(row.status, 'failed')
        const { type, message } = errorOf(row.error)!
        assert.deepEqual([type, message], ['interrupted', 'What the job needs to go on cannot be read.'])
        assert.equal((await history(second, row)).map(words).at(-1), 'end failed')
        const { entry, job } = await toGate(second, through('text'))
        entry.open(1)
        assert.equal((await ended(second, job.row.id)).status, 'completed')
      }),
    )

  test(
    'of the parameters fails the job at its start, and the file of another job cannot be decrypted',
    inFolder(async (data_dir) => {
      let ids: string[]
      {
        await using first = await startGated({ data_dir, types: new Makers().types })
        const one = await toGate(first, through('bytes'))
        const [own] = filesOf(data_dir)
        const two = await toGate(first, through('bytes'))
        const three = await toGate(first, through('rows'), { long: LONE })
        ids = [one, two, three].map(({ job }) => job.row.id)
        const [other] = filesOf(data_dir).filter((path) => path !== own && statSync(path).size === statSync(own!).size)
        // The files of two jobs are swapped, and have the same size.
        renameSync(own!, `${own}.aside`)
        renameSync(other!, own!)
        renameSync(`${own}.aside`, other!)
        const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
        const key = three.job.row.key
        const keys = db.prepare('select content_key from spilled_value where job_key = ?').pluck().all(key) as string[]
        db.close()
        assert.equal(keys.length, 2)
        for (const content_key of keys) writeFileSync(join(journalFolderPath(data_dir), content_key), '')
      }
      await using second = await startGated({ data_dir, types: new Makers().types })
      for (const id of ids) {
        const row = await ended(second, id)
        assert.deepEqual([row.status, errorOf(row.error)?.type], ['failed', 'interrupted'])
      }
    }),
  )
})

describe('the files of large values', () => {
  /** `bytes` into a node that fails, and the gate behind it. */
  const failing = graph(
    [
      source('long', 'short'),
      node('bytes', 'test.Make'),
      node('fail', 'test.Fail'),
      node('gate', 'test.Gate'),
      sink('out'),
    ],
    ['bytes.output->fail.value', 'fail.output->gate.value', 'gate.output->out.value'],
  )

  test(
    'stay until their job is removed, and a retry has links of its own',
    inFolder(async (data_dir) => {
      const makers = new Makers()
      await using server = await startGated({ data_dir, types: makers.types })
      const job = submit(server, { graph: failing, params: { long: LONE } })
      await job.settled()
      assert.equal(job.row.status, 'failed')
      consistent(data_dir)
      const before = rowsOf(data_dir)
      assert.equal(before.length, 2)
      makers.fail = false
      const long_ago = Date.now() / 1_000 - 7_200
      for (const path of filesOf(data_dir)) utimesSync(path, long_ago, long_ago)
      const retried = await server.context.runs.jobs.retry(OWNER, job.row.id)
      // The file has a second name, with the time of a new file.
      const twice = filesOf(data_dir)
        .map((path) => statSync(path))
        .filter(({ nlink }) => nlink === 2)
      assert.deepEqual([twice.length, new Set(twice.map(({ ino }) => ino)).size], [2, 1])
      for (const { mtimeMs } of twice) assert.ok(mtimeMs > (long_ago + 3_600) * 1_000)
      const entry = await until('the gate', () => server.gate.waiting[0])
      await retried.active!.flushed()
      assert.deepEqual(entry.value, BYTES)
      assert.deepEqual(makers.runs, ['bytes'])
      consistent(data_dir)
      const after = rowsOf(data_dir)
      assert.equal(after.filter(({ job_key }) => job_key === retried.row.key).length, 3)
      await deleteJob(server.context.runs, OWNER, job.row.id)
      await untilRemoved(server, 'its files', () => filesOf(data_dir).length === 3)
      // A file is removed before its row.
      await until('their rows to go', () => rowsOf(data_dir).length === 3)
      consistent(data_dir)
      assert.ok(rowsOf(data_dir).every(({ content_key }) => before.every((row) => row.content_key !== content_key)))
      entry.open(1)
      assert.equal((await ended(server, retried.row.id)).status, 'completed')
      await until('all to go', () => filesOf(data_dir).length + rowsOf(data_dir).length === 0)
    }),
  )

  test(
    'that cannot be read: the retry of their failed job is refused, and the job can be deleted',
    inFolder(async (data_dir) => {
      await using server = await startGated({ data_dir, types: new Makers().types })
      const job = submit(server, { graph: failing })
      await job.settled()
      for (const path of filesOf(data_dir)) rmSync(path)
      await assert.rejects(server.context.runs.jobs.retry(OWNER, job.row.id), coded('CONFLICT'))
      assert.deepEqual(filesOf(data_dir), [])
      await deleteJob(server.context.runs, OWNER, job.row.id)
      await untilRemoved(server, 'all rows', () => rowsOf(data_dir).length === 0)
    }),
  )

  test(
    'are removed where a retry finds no room',
    inFolder(async (data_dir) => {
      const config = { max_concurrent_jobs: 1, max_queued_jobs: 0 }
      await using server = await startGated({ data_dir, types: new Makers().types, config })
      const job = submit(server, { graph: failing })
      await job.settled()
      await until('its place to be free', () => server.context.runs.jobs.load.running === 0)
      const before = filesOf(data_dir)
      assert.equal(before.length, 1)
      const { entry } = await toGate(server, gated)
      for (let round = 0; round < 3; round++)
        await assert.rejects(server.context.runs.jobs.retry(OWNER, job.row.id), coded('QUEUE_FULL'))
      await until('their files to go', () => filesOf(data_dir).length === 1)
      assert.deepEqual(filesOf(data_dir), before)
      entry.open(1)
    }),
  )

  test(
    'are never shared: equal values of two jobs, or of two users, have different files',
    inFolder(async (data_dir) => {
      await using server = await startGated({ data_dir, types: new Makers().types })
      await toGate(server, through('bytes'))
      await toGate(server, through('bytes'))
      await toGate(server, through('bytes'), {}, { user_id: '2', workspace_id: null })
      const files = filesOf(data_dir).map((path) => readFileSync(path))
      assert.equal(files.length, 3)
      assert.equal(new Set(rowsOf(data_dir).map(({ sha256 }) => sha256)).size, 3)
      const blocks = files.map(
        (bytes) => new Set(Array.from({ length: 1_000 }, (_, at) => bytes.toString('hex', at * 16, at * 16 + 16))),
      )
      assert.equal(new Set(blocks.flatMap((own) => [...own])).size, 3_000)
    }),
  )

  test(
    'are removed without a row when they are an hour old, and with an ended job after a backup',
    inFolder(async (data_dir) => {
      await using server = await startGated({ data_dir, types: new Makers().types })
      const { entry, job } = await toGate(server, through('bytes'))
      const [kept] = filesOf(data_dir)
      const orphans = ['old', 'young'].map((name) => join(journalFolderPath(data_dir), '00', name))
      mkdirSync(join(journalFolderPath(data_dir), '00'), { recursive: true })
      for (const path of orphans) writeFileSync(path, 'x')
      const ago = (seconds: number) => Date.now() / 1_000 - seconds
      for (const path of [orphans[0]!, kept!]) utimesSync(path, ago(3_700), ago(3_700))
      await server.context.runs.retention.sweep()
      assert.deepEqual(filesOf(data_dir), [kept!, orphans[1]!].sort())
      mkdirSync(journalLeasesFolderPath(data_dir))
      const holder = join(journalLeasesFolderPath(data_dir), 'somebody')
      writeFileSync(holder, '')
      entry.open(1)
      await ended(server, job.row.id)
      await server.context.runs.retention.sweep()
      assert.ok(existsSync(kept!))
      assert.deepEqual(
        rowsOf(data_dir).map(({ job_key }) => job_key),
        [null],
      )
      utimesSync(holder, ago(3_700), ago(3_700))
      await server.context.runs.retention.sweep()
      assert.deepEqual([filesOf(data_dir), rowsOf(data_dir)], [[orphans[1]], []])
    }),
  )

  test(
    'are in a backup, whose jobs continue elsewhere under a new key',
    inFolder(async (folder) => {
      const [data_dir, target, elsewhere] = ['data', 'backup', 'elsewhere'].map((name) => join(folder, name))
      let id: string
      {
        await using server = await startGated({ data_dir: data_dir!, types: new Makers().types })
        id = (await toGate(server, through('picture'), { long: LONE })).job.row.id
        const made = await command(runBackupCommand, [target!], { SVC_DATA_DIR: data_dir! })
        assert.match(made.stderr, /0 files of assets \(0 bytes\), and 2 files of journals/)
      }
      assert.deepEqual(readdirSync(journalLeasesFolderPath(data_dir!)), [])
      mkdirSync(elsewhere!)
      writeFileSync(join(elsewhere!, 'master.key'), readFileSync(join(data_dir!, 'master.key')), { mode: 0o600 })
      const back = await command(runRestoreCommand, [target!], { SVC_DATA_DIR: elsewhere! })
      assert.equal(back.code, 0, back.stderr)
      await rotated(elsewhere!)
      const found = await command(runCheckCommand, [], { SVC_DATA_DIR: elsewhere! })
      assert.deepEqual([found.code, found.stderr], [0, ''], found.stdout)
      await using next = await startGated({ data_dir: elsewhere!, types: new Makers().types })
      const entry = await until('the gate', () => next.gate.waiting[0])
      assert.deepEqual(entry.value, VALUES.picture)
      entry.open(1)
      assert.equal((await ended(next, id)).status, 'completed')
    }),
  )

  test(
    'are complete in a backup that began while a file was being written',
    inFolder(async (folder) => {
      const [data_dir, target] = [join(folder, 'data'), join(folder, 'backup')]
      await using server = await startGated({ data_dir, types: new Makers().types })
      await toGate(server, through('picture'), { long: LONE })
      const [path] = filesOf(data_dir)
      const bytes = readFileSync(path!)
      writeFileSync(path!, bytes.subarray(0, bytes.length / 2))
      // These files are copied after the large file, so that the database is copied later.
      const others = join(journalFolderPath(data_dir), 'zz')
      mkdirSync(others)
      for (let other = 0; other < 300; other++) writeFileSync(join(others, `${other}`), '')
      const making = command(runBackupCommand, [target], { SVC_DATA_DIR: data_dir })
      const name = path!.slice(data_dir.length)
      const isCopied = () =>
        readdirSync(folder).some((one) => /partial/.test(one) && existsSync(join(folder, one, name)))
      await until('a copy of its beginning', isCopied)
      writeFileSync(path!, bytes)
      const { code, stderr } = await making
      assert.equal(code, 0, stderr)
      assert.deepEqual(readFileSync(join(target, name)), bytes)
    }),
  )

  test(
    'that cannot be written stop the job, which continues once they can be',
    inFolder(async (data_dir) => {
      const makers = new Makers()
      await using server = await startGated({ data_dir, types: makers.types })
      const folder = journalFolderPath(data_dir)
      renameSync(folder, `${folder}.aside`)
      writeFileSync(folder, 'in the way')
      const of = graph(
        [source('in', 1), node('gate', 'test.Gate'), node('bytes', 'test.Make'), node('end', 'test.Deaf'), sink('out')],
        ['in.output->gate.value', 'gate.output->bytes.value', 'bytes.output->end.value', 'end.output->out.value'],
      )
      const job = submit(server, { graph: of })
      const { id } = job.row
      await until('the gate', () => server.gate.waiting[0])
      await job.flushed()
      server.gate.waiting[0]!.open()
      await assert.rejects(job.settled())
      server.deaf.waiting[0]?.open()
      const { finished_at } = server.context.store.read((tx) => findJobByKey(tx, job.row.key))!
      assert.equal(finished_at, null)
      rmSync(folder)
      renameSync(`${folder}.aside`, folder)
      const entry = await until('the end again', () => {
        server.gate.waiting[0]?.open()
        const [one] = server.deaf.waiting
        return one && rowsOf(data_dir).length === 1 && one
      })
      assert.deepEqual(entry.value, BYTES)
      assert.ok(makers.runs.length >= 2)
      entry.open(1)
      const row = await ended(server, id)
      assert.equal(row.status, 'completed')
      await history(server, row)
    }),
  )
})

/** Encrypts the data of the folder under a new key. */
async function rotated(folder: string): Promise<void> {
  await using store = await Store.open(join(folder, 'svc.db'))
  const { done, damaged } = await rotateMasterKey(
    store,
    folder,
    { present: null, next: null },
    new AbortController().signal,
  )
  assert.deepEqual([done, damaged], [true, 0])
}

interface Files {
  readonly data_dir: string
  readonly store: Store
  readonly tools: JournalStorage
}

/** An empty store, and a folder for large values. */
async function withFiles(work: (files: Files) => Promise<void>): Promise<void> {
  const data_dir = temporaryFolder()
  try {
    await using opened = await openStore()
    const { store } = opened
    await using spilled = new SpilledValueStore(data_dir, store, systemPlatform())
    const tools = { cipher: new Vault(Buffer.alloc(32, 1)).cipher('journal'), spilled }
    await work({ data_dir, store, tools })
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

describe('a large value that waits to be written', () => {
  test('counts towards a limit, beyond which values are written at once and dropped from memory', () =>
    withFiles(async ({ data_dir, store, tools }) => {
      const memory = JobJournal.createEmpty(tools, 7, { a: 1 })
      memory.markRunBegun()
      // The value counts with its serialized size, which is a hundred times its size in memory.
      const wide = (fill: number) => ({ output: Array<Uint8Array>(100).fill(new Uint8Array(1_000_000).fill(fill)) })
      const end = (at: number) => memory.stage(['end', `"${at}"`, { outputs: wide(at) }])
      end(1)
      end(2)
      assert.equal(filesOf(data_dir).length, 0)
      end(3)
      assert.equal(filesOf(data_dir).length, 1)
      await memory.spill(AbortSignal.timeout(60_000))
      assert.equal(memory.spill(AbortSignal.timeout(60_000)), null)
      await store.write((tx) => memory.write(tx, 1, memory.stagedCount))
      memory.markCommitted()
      assert.equal(filesOf(data_dir).length, 3)
      end(4)
      assert.equal(filesOf(data_dir).length, 3)
      const known = runToCompletion(JobJournal.loadSteps(store, tools, 7))!
      assert.deepEqual(known.params, { a: 1 })
      for (const at of [3, 1, 2]) assert.deepEqual(known.recall(`"${at}"`)?.end, { outputs: wide(at) })
    }))

  test('is removed even after a file that cannot be removed, which the sweep retries', () =>
    withFiles(async ({ data_dir, store, tools: { spilled } }) => {
      const values = Array.from({ length: 40 }, () => spilled.writeSync(BYTES))
      await store.write((tx) => {
        for (const value of values) spilled.insert(tx, 7, value)
      })
      // All files of one round cannot be removed.
      const stuck = values.slice(0, 35).map(({ content_key }) => join(journalFolderPath(data_dir), content_key))
      for (const path of stuck) {
        rmSync(path)
        mkdirSync(path)
      }
      await store.write((tx) => releaseSpilledValues(tx, 7, values.length))
      await spilled.removeReleased()
      const left = () => values.filter(({ content_key }) => store.read((tx) => isSpilledValueStored(tx, content_key)))
      assert.deepEqual([filesOf(data_dir), left().length], [[], stuck.length])
      await assert.rejects(spilled.sweep(), { code: 'ERR_FS_EISDIR' })
      for (const path of stuck) rmdirSync(path)
      await spilled.sweep()
      assert.deepEqual(left(), [])
    }))

  test('is dropped from memory once the resumed firing has it', () =>
    withFiles(async ({ store, tools }) => {
      const memory = JobJournal.createEmpty(tools, 7, {})
      memory.stage(['step', '"a"', 'step', { call: 1, begun: true }])
      memory.stage(['done', '"a"', 'step', BYTES])
      for (let times = 0; times < 3; times++) memory.stage(['item', '"a"', { output: BYTES }])
      await memory.spill(AbortSignal.timeout(60_000))
      await store.write((tx) => memory.write(tx, 1, memory.stagedCount))
      const known = runToCompletion(JobJournal.loadSteps(store, tools, 7))!
      runToCompletion(known.readSteps('"a"')!)
      const { items, steps } = known.recall('"a"')!
      assert.deepEqual(items, Array(3).fill({ output: BYTES }))
      assert.deepEqual(steps.get('step')?.end, { value: BYTES })
      const left = known.firings.get('"a"')!
      assert.deepEqual([left.items.length, left.steps.size], [0, 0])
    }))

  test('stays in its file during a retry until it is needed, so that the values are never all in memory', () =>
    withFiles(async ({ data_dir, store, tools }) => {
      const write = async (memory: JobJournal) => {
        await memory.spill(AbortSignal.timeout(60_000))
        await store.write((tx) => memory.write(tx, 1, memory.stagedCount))
        memory.markCommitted()
      }
      const first = JobJournal.createEmpty(tools, 7, { a: 1 })
      first.stage(['item', '"a"', { output: BYTES }])
      first.stage(['end', '"b"', { outputs: { output: LONE } }])
      first.stage(['done', '"c"', 'step', BYTES])
      first.stage(['wait', '"d"', {} as never])
      first.stage(['answer', '"d"', [BYTES]])
      await write(first)
      const old = runToCompletion(JobJournal.loadSteps(store, tools, 7))!
      const [before] = filesOf(data_dir)
      // A read of a file would fail now.
      const bytes = readFileSync(before!)
      writeFileSync(before!, Buffer.alloc(bytes.length))
      const second = JobJournal.createEmpty(tools, 8, old.params)
      for (const entry of old.reusableEntries(
        () => 'all',
        () => true,
      ))
        second.stage(entry)
      assert.equal(filesOf(data_dir).length, 8)
      await write(second)
      writeFileSync(before!, bytes)
      for (const memory of [second, runToCompletion(JobJournal.loadSteps(store, tools, 8))!]) {
        assert.deepEqual(memory.recall('"a"')?.items.map(UnreadValue.read), [{ output: BYTES }])
        assert.deepEqual(memory.recall('"b"')?.end, { outputs: { output: LONE } })
        assert.deepEqual(memory.recall('"c"')?.steps.get('step')?.end, { value: BYTES })
        assert.deepEqual(memory.recall('"d"')?.answer, { value: [BYTES] })
      }
    }))

  test('is dropped where it is no longer needed, and leaves no file', async () => {
    const data_dir = temporaryFolder()
    try {
      await using opened = await openStore()
      const spilled = new SpilledValueStore(data_dir, opened.store, systemPlatform())
      const tools = { cipher: new Vault(Buffer.alloc(32, 1)).cipher('journal'), spilled }
      const memory = JobJournal.createEmpty(tools, 7, { long: LONE })
      for (let at = 0; at < 4; at++) memory.stage(['item', '"a"', { output: BYTES }])
      const abort = new AbortController()
      const spilling = memory.spill(abort.signal)
      await until('some', () => filesOf(data_dir).length > 1)
      abort.abort(new Error('over'))
      await assert.rejects(spilling!, /over/)
      await spilled[Symbol.asyncDispose]()
      assert.deepEqual(filesOf(data_dir), [])
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})
