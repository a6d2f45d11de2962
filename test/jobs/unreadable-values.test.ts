// Large values of waiting jobs that the file system does not give for a while: the jobs wait on, and the log is told once.
import assert from 'node:assert/strict'
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { describe, test } from 'node:test'
import { journalFolder } from '../../src/db/data-folder.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { until } from '../helpers/server.ts'
import { coded, ended, OWNER, outputs, startGated, submit } from './kit.ts'

const approval = graph(
  [source('in', 'x'), node('ask', 'human.Approval', { message: 'Send it?' }), sink('yes')],
  ['in.output->ask.value', 'ask.approved->yes.value'],
)

const TEXT = 'much'.repeat(300_000)
const ANSWER = { node_id: null, name: null, value: true, at: '/body' }

/** Until it is disposed of, no file in a folder can be opened. */
function closed(folder: string): Disposable {
  const real = fs.openSync
  const replace = (open: typeof fs.openSync) => {
    fs.openSync = open
    syncBuiltinESMExports()
  }
  replace((path, ...more) => {
    if (String(path).startsWith(folder)) throw Object.assign(new Error('EACCES: permission denied'), { code: 'EACCES' })
    return real(path, ...more)
  })
  return { [Symbol.dispose]: () => replace(real) }
}

describe('a waiting job whose values cannot be read for a while', () => {
  test('is neither resumed nor cancelled meanwhile, and the log is told once', async () => {
    const { log, lines } = keptLog()
    await using server = await startGated({ log })
    const { jobs } = server.context
    const { row } = submit(server, { graph: approval, params: { in: TEXT } })
    await until('it to wait', async () => {
      const handle = await jobs.get(OWNER, row.id)
      return handle.row.status === 'paused' && handle.active === null
    })
    {
      using _ = closed(journalFolder(server.data_dir))
      for (let times = 0; times < 3; times++)
        await assert.rejects(jobs.resume(OWNER, row.id, ANSWER), coded('SERVICE_UNAVAILABLE'))
      await assert.rejects(jobs.cancel(OWNER, row.id), coded('SERVICE_UNAVAILABLE'))
    }
    assert.equal(lines.filter((line) => line.includes('could not be written')).length, 1)
    await jobs.resume(OWNER, row.id, ANSWER)
    assert.deepEqual(outputs(await ended(server, row.id)), { yes: TEXT })
  })
})
