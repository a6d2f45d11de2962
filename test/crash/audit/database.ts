// Checks the database after a run: `svc check` finds it sound, and its triggers still protect immutable data.
import Database from 'better-sqlite3'
import { svc } from '../../helpers/process.ts'
import { databaseOf } from '../census.ts'
import type { Fault } from '../evidence.ts'

/** Changes that the database itself must refuse. */
const FORBIDDEN: readonly { readonly what: string; readonly sql: string }[] = [
  {
    what: 'a terminal job was changed',
    sql: "update job set status = 'running' where key = (select min(key) from job where finished_at is not null)",
  },
  {
    what: 'an event was changed',
    sql: "update job_event set payload = '{}' where job_key = (select min(job_key) from job_event)",
  },
]

export async function judgeDatabase(data_dir: string): Promise<Fault[]> {
  const { code, stdout, stderr } = await svc(['check'], { SVC_DATA_DIR: data_dir })
  const found = code === 0 ? [] : [contradiction(`svc check says: ${(stdout + stderr).slice(0, 2_000)}`)]
  return [...found, ...judgeTriggers(data_dir)]
}

function judgeTriggers(data_dir: string): Fault[] {
  const db = new Database(databaseOf(data_dir))
  try {
    const faults: Fault[] = []
    for (const { what, sql } of FORBIDDEN)
      if (!refuses(db, sql)) faults.push(contradiction(`${what}, and nothing refused it`))
    return faults
  } finally {
    db.close()
  }
}

function contradiction(what: string): Fault {
  return { kind: 'contradiction', job_id: null, what }
}

function refuses(db: Database.Database, sql: string): boolean {
  db.exec('begin')
  try {
    db.exec(sql)
    return false
  } catch {
    return true
  } finally {
    if (db.inTransaction) db.exec('rollback')
  }
}
