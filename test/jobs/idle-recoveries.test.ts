// A job that is interrupted over and over ends, since it may cause the crashes, unless it makes progress each time.
import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import Database from 'better-sqlite3'
import type { JobError } from '../../generated/types.ts'
import { findJobByKey } from '../../src/db/jobs/rows.ts'
import type { ActiveJob } from '../../src/jobs/active-job.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { temporaryFolder, until } from '../helpers/server.ts'
import { type GatedServer, gated, OWNER, startGated, submit } from './kit.ts'

/** A job may be interrupted this often without progress. */
const MOST = 20

/** Removes the mark of an orderly stop, so that the next server takes the last one for killed. */
function makeItACrash(data_dir: string): void {
  const db = new Database(join(data_dir, 'svc.db'))
  db.prepare("delete from meta where name = 'stopped_at'").run()
  db.close()
}

/** Interrupts a job `MOST` times, and once more after `inLife`; returns its status and error after that. */
async function interruptedOften(inLife: (life: number, job: ActiveJob) => void): Promise<(string | undefined)[]> {
  const data_dir = temporaryFolder()
  try {
    {
      await using server = await startGated({ data_dir })
      await submit(server, { graph: gated }).flushed()
    }
    for (let life = 1; life <= MOST; life++) {
      makeItACrash(data_dir)
      await using server = await startGated({ data_dir })
      const job = await running(server)
      inLife(life, job)
      await job.flushed()
    }
    makeItACrash(data_dir)
    await using server = await startGated({ data_dir })
    const row = server.context.store.read((tx) => findJobByKey(tx, 1))
    return [row?.status, (JSON.parse(row?.error ?? 'null') as JobError | null)?.type]
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

async function running({ gate, context }: GatedServer): Promise<ActiveJob> {
  await until('the firing, once more', () => gate.waiting[0])
  const [row] = runToCompletion(context.runs.jobs.listActive(OWNER))
  return (await context.runs.jobs.get(OWNER, row!.id)).active!
}

describe('a job that was interrupted twenty times', () => {
  test('ends if it never made progress', async () => {
    assert.deepEqual(await interruptedOften(() => {}), ['failed', 'interrupted'])
  })

  test('continues if it published a new output value since one of these interruptions, even without a journal entry', async () => {
    const tell = (life: number, job: ActiveJob) => {
      if (life === MOST) job.outputs.publish('out', 'out', 'a value')
    }
    const [status] = await interruptedOften(tell)
    assert.match(String(status), /^(recovering|running)$/)
  })
})
