// Results of more than a million characters are written in parts before their jobs end, and are read whole.
import assert from 'node:assert/strict'
import { cpSync, existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { JobSnapshot, ResultManifest } from '../../generated/types.ts'
import { checkDatabase } from '../../src/db/integrity/database-check.ts'
import { registerChecksumFunctions } from '../../src/db/integrity/row-checksum.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { readJobText } from '../../src/jobs/queries.ts'
import { graph, mapType, node, sink, source } from '../engine/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { call } from '../helpers/http.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { startServer, until } from '../helpers/server.ts'
import { ended, history, outputs, startGated, submit, words } from './kit.ts'

const TEXT = 'é"\u001f𝄞'.repeat(300_000)
const large = mapType('test.Large', () => TEXT)

/** Two outputs of some megabytes behind a gate. */
const twice: Graph = graph(
  [source('in', 'x'), node('gate', 'test.Gate'), node('large', 'test.Large'), sink('a'), sink('b')],
  ['in.output->gate.value', 'gate.output->large.value', 'large.output->a.value', 'large.output->b.value'],
)

/** The number of stored parts, and the number in the row. */
function stored(data_dir: string): { parts: number; counted: number | null } {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    const of = (sql: string) => db.prepare(sql).pluck().get() as number | null
    return { parts: of('select count(*) from result_part')!, counted: of('select sum(result_parts) from job') }
  } finally {
    db.close()
  }
}

describe('a result in parts', () => {
  test(
    'is the same for every reader, even after a restart, and is removed with its job',
    inFolder(async (data_dir) => {
      const first = await startGated({ data_dir, types: [large] })
      const job = submit(first, { graph: twice })
      const held = await until('the gate', () => first.gate.waiting[0])
      held.open('x')
      await job.settled()
      assert.deepEqual(outputs(job.row), { a: TEXT, b: TEXT })
      const { parts, counted } = stored(data_dir)
      assert.deepEqual([parts, parts > 2], [counted, true])
      await first.close(0)
      await using server = await startServer({ data_dir })
      const { body } = await call<JobSnapshot>(server, 'GET', `/api/jobs/${job.row.id}`)
      assert.deepEqual(body.result, JSON.parse(job.row.result!) as ResultManifest)
      assert.ok(body.result!.completed_at <= body.finished_at!)
      assert.deepEqual((await history(server, job.row)).map(words).at(-1), 'end completed')
      const list = await call<JobSnapshot[]>(server, 'GET', '/api/jobs')
      assert.deepEqual(list.body[0]?.result, body.result)
      assert.equal((await call(server, 'DELETE', `/api/jobs/${job.row.id}`)).status, 204)
      await server.context.runs.retention.sweep()
      assert.deepEqual(stored(data_dir), { parts: 0, counted: null })
    }),
  )

  test(
    'with a missing part is an error for its readers and is left out of lists, and its job can be deleted',
    inFolder(async (data_dir) => {
      await using server = await startGated({ data_dir, types: [large] })
      const job = submit(server, { graph: twice })
      const held = await until('the gate', () => server.gate.waiting[0])
      held.open('x')
      await job.settled()
      const db = new Database(join(data_dir, 'svc.db'))
      registerChecksumFunctions(db)
      db.exec('delete from result_part where at = 1')
      db.close()
      const path = `/api/jobs/${job.row.id}`
      const { status, body } = await call<{ error: { type: string } }>(server, 'GET', path)
      assert.deepEqual([status, body.error.type], [500, 'data_damaged'])
      assert.deepEqual((await call(server, 'GET', '/api/jobs')).body, [])
      await assert.rejects(history(server, job.row), { code: 'DATA_DAMAGED' })
      assert.equal((await call(server, 'DELETE', path)).status, 204)
      assert.equal((await call(server, 'GET', path)).status, 404)
    }),
  )

  test(
    'is read only by requests that show it',
    inFolder(async (data_dir) => {
      await using server = await startGated({ data_dir, types: [large] })
      const job = submit(server, { graph: twice })
      const held = await until('the gate', () => server.gate.waiting[0])
      held.open('x')
      await job.settled()
      const { store } = server.context
      const { jobs } = server.context.runs
      let parts = 0
      const read = store.read.bind(store)
      store.read = (unit) =>
        read((tx) => {
          const found = unit(tx)
          const { body } = (found ?? {}) as { body?: unknown }
          if (typeof body === 'string') parts++
          return found
        })
      const handle = await jobs.get(job.row, job.row.id)
      assert.equal(parts, 0)
      const text = await readJobText(jobs, handle)
      assert.deepEqual([parts, text.includes('"result":{')], [job.row.result_parts, true])
      assert.equal(jobs.isStored(job.row, job.row.id), true)
      assert.equal(jobs.isStored(job.row, 'another'), false)
      assert.equal(jobs.awaitsRecovery(job.row, job.row.id), false)
      const another = (await call(server, 'GET', '/api/jobs/another')).status
      assert.deepEqual([parts, another], [job.row.result_parts, 404])
    }),
  )

  test(
    'is whole where the server is killed between its parts, and the job ends once',
    inFolder(async (folder) => {
      const [before, data_dir] = [join(folder, 'before'), join(folder, 'killed')]
      const first = await startGated({ data_dir: before, types: [large] })
      const job = submit(first, { graph: twice })
      const held = await until('the gate', () => first.gate.waiting[0])
      const { store } = first.context
      const write = store.writeThen.bind(store)
      store.writeThen = (unit, done) =>
        write(unit, (error, result) => {
          // The data that a kill in this moment leaves.
          if (!existsSync(data_dir) && stored(before).parts > 1) cpSync(before, data_dir, { recursive: true })
          done(error, result)
        })
      held.open('x')
      await job.settled()
      await first.close(0)
      assert.deepEqual([stored(data_dir), stored(before).counted], [{ parts: 2, counted: null }, stored(before).parts])
      assert.deepEqual(await checkDatabase(join(data_dir, 'svc.db')), [])
      await using server = await startGated({ data_dir, types: [large] })
      const row = await ended(server, job.row.id)
      assert.deepEqual([row.status, outputs(row)], ['completed', { a: TEXT, b: TEXT }])
      const { parts, counted } = stored(data_dir)
      assert.equal(parts, counted)
      const told = (await history(server, row)).map(words)
      assert.equal(told.filter((word) => word === 'end completed').length, 1)
      assert.deepEqual(await checkDatabase(join(data_dir, 'svc.db')), [])
    }),
  )

  test(
    'of a job that is detached between its parts does not fail: the next process continues the job',
    inFolder(async (data_dir) => {
      const { log, lines } = keptLog()
      const first = await startGated({ data_dir, types: [large], log })
      const job = submit(first, { graph: twice })
      const held = await until('the gate', () => first.gate.waiting[0])
      const { store } = first.context
      const write = store.writeThen.bind(store)
      const left = Promise.withResolvers<void>()
      store.writeThen = (unit, done) =>
        write(unit, (error, result) => {
          if (stored(data_dir).parts === 2) {
            job.detach()
            left.resolve()
          }
          done(error, result)
        })
      held.open('x')
      await left.promise
      await first.close(0)
      assert.deepEqual(stored(data_dir), { parts: 2, counted: null })
      assert.ok(!lines.join('').includes('could not be written'), lines.join(''))
      await using server = await startGated({ data_dir, types: [large] })
      const row = await ended(server, job.row.id)
      assert.deepEqual([row.status, outputs(row)], ['completed', { a: TEXT, b: TEXT }])
      assert.equal(stored(data_dir).parts, stored(data_dir).counted)
    }),
  )
})
