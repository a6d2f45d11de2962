// A job that is interrupted over and over: it may be what brings the process down, unless it gets further each time.
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

/** As often a job may be interrupted in one and the same place. */
const MOST = 20

/** Takes back that the server stopped by itself: the next one is to believe that it was killed. */
function makeItACrash(data_dir: string): void {
  const db = new Database(join(data_dir, 'svc.db'))
  db.prepare("delete from meta where name = 'stopped_at'").run()
  db.close()
}

/** Has a job interrupted `MOST` times, once more after `inLife`; gives its status and error after that. */
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
  const [row] = runToCompletion(context.jobs.listActive(OWNER))
  return (await context.jobs.get(OWNER, row!.id)).active!
}

describe('a job that was interrupted twenty times', () => {
  test('ends there if it never got any further', async () => {
    assert.deepEqual(await interruptedOften(() => {}), ['failed', 'interrupted'])
  })

  test('goes on if it has told a new value of an output in one of the last lives, though it remembered nothing', async () => {
    const tell = (life: number, job: ActiveJob) => {
      if (life === MOST) job.publish('out', 'out', 'a value')
    }
    const [status] = await interruptedOften(tell)
    assert.match(String(status), /^(recovering|running)$/)
  })
})
