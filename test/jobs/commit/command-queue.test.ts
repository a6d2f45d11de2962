// Commands that share a commit with the job's own changes: commands may be refused without the other changes.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import { SPILL_THRESHOLD } from '../../../src/jobs/values/spilled-value-store.ts'
import { graph, node, sink } from '../../engine/kit.ts'
import { type TestServer, until } from '../../helpers/server.ts'
import { coded, ended, gated, history, outputs, startGated, submit, words } from '../kit.ts'

/** Makes the database refuse rows of a table that fulfil a condition. */
function refusing({ data_dir }: TestServer, event: string, when: string): Disposable {
  const db = new Database(join(data_dir, 'svc.db'))
  db.exec(`create trigger broken before ${event} when ${when} begin select raise(abort, 'the disk is gone'); end`)
  return {
    [Symbol.dispose]() {
      db.exec('drop trigger broken')
      db.close()
    },
  }
}

const streamed = graph(
  [node('in', 'input.String', { name: 'in', stream: true }), node('all', 'control.Collect'), sink('out')],
  ['in.output->all.item', 'all.list->out.value'],
)

describe('a command that cannot be stored', () => {
  test('does not undo changes of the job in the same turn', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: gated })
    const entry = await until('the firing', () => server.gate.waiting[0])
    await job.flushed()
    using _ = refusing(server, 'update on job', "new.status = 'cancel_requested'")
    const [first, second] = [job.cancel(), job.cancel()]
    await Promise.all([first, second].map((cancelling) => assert.rejects(cancelling, coded('SERVICE_UNAVAILABLE'))))
    assert.equal(job.row.status, 'running')
    const third = job.cancel()
    job.remember(['recovery'])
    await job.flushed()
    await assert.rejects(third, coded('SERVICE_UNAVAILABLE'))
    entry.open()
    const row = await ended(server, job.row.id)
    assert.deepEqual([row.status, outputs(row), row.attempt], ['completed', { out: 'x' }, 1])
    const told = (await history(server, row)).map(words)
    assert.ok(!told.some((one) => one.includes('cancel')), told.join())
  })

  test('is refused alone where it is too large: smaller commands are accepted, and it is accepted once there is room', async () => {
    await using server = await startGated()
    const job = submit(server, { graph: streamed, acceptsStreamInput: true })
    await job.accepted()
    const large = 'x'.repeat(SPILL_THRESHOLD)
    const { inputs } = job
    assert.ok(inputs)
    {
      using _ = refusing(server, 'insert on spilled_value', 'true')
      assert.equal(inputs.pushInput('in', large), 'ok')
      await assert.rejects(inputs.whenStored(), coded('SERVICE_UNAVAILABLE'))
      assert.equal(inputs.pushInput('in', 'small'), 'ok')
      await inputs.whenStored()
    }
    assert.equal(inputs.pushInput('in', large), 'ok')
    assert.equal(inputs.endInput('in'), 'ok')
    // Commands after the end are refused before the end is stored.
    assert.equal(inputs.pushInput('in', 'late'), 'not_running')
    await inputs.whenStored()
    const row = await ended(server, job.row.id)
    assert.deepEqual(outputs(row), { out: ['small', large] })
  })
})
