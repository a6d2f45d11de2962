// Brings a database to the present schema, with Kysely's migrator on the store's own connection.
import type Database from 'better-sqlite3'
import { Kysely, SqliteDialect } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { StartError } from '../start-error.ts'
import { initial } from './migrations/0001-initial.ts'
import { durableJobs } from './migrations/0002-durable-jobs.ts'
import { assets } from './migrations/0003-assets.ts'
import { vault } from './migrations/0004-vault.ts'
import { jobRetention } from './migrations/0005-job-retention.ts'
import { access } from './migrations/0006-access.ts'

/** In order; a name, once released, never changes. */
const MIGRATIONS: Readonly<Record<string, Migration>> = {
  '0001-initial': initial,
  '0002-durable-jobs': durableJobs,
  '0003-assets': assets,
  '0004-vault': vault,
  '0005-job-retention': jobRetention,
  '0006-access': access,
}

/** @throws StartError when the database was written by a newer version */
export async function migrate(db: Database.Database): Promise<void> {
  const applied = migrationsOf(db)
  const unknown = applied.find((name) => !(name in MIGRATIONS))
  if (unknown !== undefined) {
    throw new StartError(
      `${db.name} was written by a newer version of the service (migration ${unknown}); start that version, or choose another data folder with SVC_DATA_DIR`,
    )
  }
  if (applied.length === Object.keys(MIGRATIONS).length) return
  // The migrator closes nothing of ours: the connection is handed in, and stays the store's.
  const kysely = new Kysely<unknown>({ dialect: new SqliteDialect({ database: db }) })
  const { error } = await new Migrator({
    db: kysely,
    provider: { getMigrations: async () => MIGRATIONS },
  }).migrateToLatest()
  if (error) throw error
}

/** The names of all migrations, in order. */
export function knownMigrations(): string[] {
  return Object.keys(MIGRATIONS)
}

/** The names of the migrations that a database has seen, in order. */
export function migrationsOf(db: Database.Database): string[] {
  const table = db.prepare("select 1 from sqlite_master where type = 'table' and name = 'kysely_migration'").get()
  if (!table) return []
  return db.prepare('select name from kysely_migration order by name').pluck().all() as string[]
}
