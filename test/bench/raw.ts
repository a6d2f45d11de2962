// The reference for the store: better-sqlite3 on the same disk, with the service's tables, indexes and durability, and prepared statements.
// It writes the rows that the service wrote for a job, with other keys.
import { join } from 'node:path'
import Database from 'better-sqlite3'
import { Store } from '../../src/db/store.ts'
import { systemPlatform } from '../../src/platform.ts'

type Values = unknown[]

/** The rows of a job in the service's database: a list of values for each row. */
export interface Sample {
  readonly graph: Values
  readonly job: Values
  readonly events: readonly Values[]
  readonly pages: readonly Values[]
}

const TABLES = {
  graph: ['sha256', 'body'],
  job: [
    ...['key', 'id', 'user_id', 'workspace_id', 'workflow_id', 'workflow_etag', 'workflow_revision', 'graph_sha256'],
    ...['name', 'status', 'request_sha256', 'options', 'attempt', 'last_sequence', 'error', 'result', 'created_at'],
    ...['updated_at', 'started_at', 'finished_at', 'seed', 'waiting', 'wake_at'],
  ],
  job_event: ['job_key', 'sequence', 'type', 'payload', 'created_at'],
  job_journal: ['job_key', 'page', 'attempt', 'body'],
} as const

type Table = keyof typeof TABLES

/** Reads the stored rows of a job. `data_dir` is the service's data folder, which may be in use. */
export function sampleOf(data_dir: string, job_id: string): Sample {
  const db = new Database(join(data_dir, 'svc.db'), { readonly: true })
  try {
    const select = (table: Table, where: string, value: unknown) =>
      db
        .prepare(`select ${TABLES[table].join(', ')} from ${table} where ${where}`)
        .raw()
        .all(value) as Values[]
    const [job] = select('job', 'id = ?', job_id)
    if (!job) throw new Error(`${job_id} is not stored`)
    const [graph] = select('graph', 'sha256 = ?', job[TABLES.job.indexOf('graph_sha256')])
    return {
      graph: graph!,
      job,
      events: select('job_event', 'job_key = ? order by sequence', job[0]),
      pages: select('job_journal', 'job_key = ? order by page', job[0]),
    }
  } finally {
    db.close()
  }
}

/** Opens a database as the service does, with its default durability. */
export function openRaw(path: string): Database.Database {
  const db = new Database(path)
  for (const pragma of ['synchronous = FULL', 'journal_mode = WAL', 'foreign_keys = ON']) db.pragma(pragma)
  for (const pragma of ['cache_size = -16384', 'wal_autocheckpoint = 4000']) db.pragma(pragma)
  return db
}

export class RawDatabase implements Disposable {
  readonly #db: Database.Database
  readonly #insert: Readonly<Record<Table, Database.Statement>>
  readonly #id = systemPlatform().id
  #key: number

  private constructor(db: Database.Database) {
    this.#db = db
    this.#key = db.prepare('select ifnull(max(key), 0) from job').pluck().get() as number
    const insert = (table: Table) => {
      const columns = TABLES[table]
      const slots = columns.map(() => '?').join(', ')
      return db.prepare(`insert or ignore into ${table} (${columns.join(', ')}) values (${slots})`)
    }
    this.#insert = {
      graph: insert('graph'),
      job: insert('job'),
      job_event: insert('job_event'),
      job_journal: insert('job_journal'),
    }
  }

  /** A new database with the service's schema in `folder`, which the caller removes. */
  static async in(folder: string): Promise<RawDatabase> {
    const path = join(folder, 'raw.db')
    await (await Store.open(path))[Symbol.asyncDispose]()
    return new RawDatabase(openRaw(path))
  }

  /** The database of a stopped service. */
  static at(path: string): RawDatabase {
    return new RawDatabase(openRaw(path))
  }

  /** Writes the rows of `count` jobs like `sample` in one transaction. */
  insertJobs({ graph, job, events, pages }: Sample, count: number): void {
    this.#together(() => {
      this.#insert.graph.run(graph)
      for (let i = 0; i < count; i++) {
        const key = ++this.#key
        this.#insert.job.run(key, this.#id('job'), ...job.slice(2))
        for (const [, ...rest] of events) this.#insert.job_event.run(key, ...rest)
        for (const [, ...rest] of pages) this.#insert.job_journal.run(key, ...rest)
      }
    })
  }

  /** Writes the events of one more job like `sample`, `group` of them in a transaction. */
  insertEvents({ events }: Sample, group: number): void {
    const key = ++this.#key
    for (let from = 0; from < events.length; from += group) {
      this.#together(() => {
        for (const [, ...rest] of events.slice(from, from + group)) this.#insert.job_event.run(key, ...rest)
      })
    }
  }

  /** Reads all events of the last job, 256 at a time as the service does. Returns their number. */
  readEvents(): number {
    const select = this.#db.prepare(
      'select * from job_event where job_key = ? and sequence > ? order by sequence limit 256',
    )
    let count = 0
    for (let rows = select.all(this.#key, 0); rows.length > 0; rows = select.all(this.#key, count)) count += rows.length
    return count
  }

  #together(work: () => void): void {
    this.#db.exec('BEGIN IMMEDIATE')
    work()
    this.#db.exec('COMMIT')
  }

  [Symbol.dispose](): void {
    this.#db.close()
  }
}
