// Requests for stored jobs that are under way when the server stops. They are refused like other requests, and no job is reported as faulty.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { describe, test } from 'node:test'
import { LastUsedTimes } from '../../src/access/tokens/last-used-times.ts'
import { SqliteCatalogue } from '../../src/db/catalogue.ts'
import { journalFolderPath } from '../../src/db/files/data-folder.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { inFolder } from '../helpers/folder.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { until } from '../helpers/server.ts'
import { openStore } from '../helpers/store.ts'
import { coded, type GatedServer, gated, OWNER, startGated, submit } from './kit.ts'

const approval = graph(
  [source('in', 'x'), node('ask', 'human.Approval', { message: 'Send it?' }), sink('yes')],
  ['in.output->ask.value', 'ask.approved->yes.value'],
)
/** A value that takes longer to read than the server takes to stop. */
const TEXT = 'much'.repeat(6_000_000)
const ANSWER = { node_id: null, name: null, value: true, at: '/body' }
/** Resolves when a file in a folder is opened. */
function firstOpened(folder: string): Disposable & { readonly promise: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>()
  const real = fs.openSync
  const replace = (open: typeof fs.openSync) => {
    fs.openSync = open
    syncBuiltinESMExports()
  }
  replace((path, ...more) => {
    if (String(path).startsWith(folder)) resolve()
    return real(path, ...more)
  })
  return { promise, [Symbol.dispose]: () => replace(real) }
}

/** Each case has a stored job, and returns the request that is under way. */
const WORK: Readonly<Record<string, (server: GatedServer) => Promise<() => Promise<unknown>>>> = {
  resume: async (server) => {
    const { jobs } = server.context.runs
    const { row } = submit(server, { graph: approval, params: { in: TEXT } })
    await until('it to wait', async () => {
      const handle = await jobs.get(OWNER, row.id)
      return handle.row.status === 'paused' && handle.active === null
    })
    return () => jobs.resume(OWNER, row.id, ANSWER)
  },
  retry: async (server) => {
    const { jobs } = server.context.runs
    const job = submit(server, { graph: gated, params: { in: TEXT } })
    await until('the gate', () => server.gate.waiting[0])
    await jobs.cancel(OWNER, job.row.id)
    await job.settled()
    return () => jobs.retry(OWNER, job.row.id)
  },
}

describe('a server that stops', () => {
  for (const [what, prepare] of Object.entries(WORK))
    test(
      `refuses a request that is under way, and does not blame the job: ${what}`,
      inFolder(async (data_dir) => {
        const { log, lines } = keptLog()
        const server = await startGated({ data_dir, log })
        const work = await prepare(server)
        using opened = firstOpened(journalFolderPath(data_dir))
        const refused = assert.rejects(work(), coded('SERVICE_UNAVAILABLE'))
        await opened.promise
        await server.close(0)
        await refused
        assert.deepEqual(
          lines.filter((line) => line.includes('"level":50')),
          [],
        )
      }),
    )

  test('has a store that is not available once it is closed', async () => {
    await using opened = await openStore()
    await opened.store[Symbol.asyncDispose]()
    assert.throws(() => opened.store.read(() => opened.store.pragma('synchronous')), coded('SERVICE_UNAVAILABLE'))
  })

  test('records no use of a token in a closed store, and does not log that', async () => {
    await using opened = await openStore()
    const { log, lines } = keptLog()
    const uses = new LastUsedTimes(new SqliteCatalogue(opened.store), log)
    uses.record('token', 1)
    await opened.store[Symbol.asyncDispose]()
    await uses.write()
    assert.deepEqual(lines, [])
  })
})
