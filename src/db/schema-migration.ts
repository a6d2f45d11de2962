// Migrates a database to the present schema, with Kysely's migrator on the store's own connection.
import type Database from 'better-sqlite3'
import { Kysely, SqliteAdapter, SqliteDialect } from 'kysely'
import { type Migration, Migrator } from 'kysely/migration'
import { StartError } from '../start-error.ts'
import { registerChecksumFunctions } from './integrity/row-checksum.ts'
import { initial } from './migrations/0001-initial.ts'
import { durableJobs } from './migrations/0002-durable-jobs.ts'
import { assets } from './migrations/0003-assets.ts'
import { vault } from './migrations/0004-vault.ts'
import { jobRetention } from './migrations/0005-job-retention.ts'
import { access } from './migrations/0006-access.ts'
import { submissions } from './migrations/0007-submissions.ts'
import { keptKeys } from './migrations/0008-kept-keys.ts'
import { threads } from './migrations/0009-threads.ts'
import { modelSpending } from './migrations/0010-model-spending.ts'
import { vectors } from './migrations/0011-vectors.ts'
import { drafts } from './migrations/0012-drafts.ts'
import { files } from './migrations/0013-files.ts'
import { spilledValues } from './migrations/0014-spilled-values.ts'
import { deletedFolders } from './migrations/0015-deleted-folders.ts'
import { checksums, type Progress } from './migrations/0016-checksums.ts'
import { unfinishedByOwner } from './migrations/0017-unfinished-by-owner.ts'
import { previewsByUser } from './migrations/0018-previews-by-user.ts'
import { graphParts } from './migrations/0019-graph-parts.ts'
import { ownKeys } from './migrations/0020-own-keys.ts'
import { resultParts } from './migrations/0021-result-parts.ts'

/** In order; a released name never changes. */
const migrations = (progress: Progress): Readonly<Record<string, Migration>> => ({
  '0001-initial': initial,
  '0002-durable-jobs': durableJobs,
  '0003-assets': assets,
  '0004-vault': vault,
  '0005-job-retention': jobRetention,
  '0006-access': access,
  '0007-submissions': submissions,
  '0008-kept-keys': keptKeys,
  '0009-threads': threads,
  '0010-model-spending': modelSpending,
  '0011-vectors': vectors,
  '0012-drafts': drafts,
  '0013-files': files,
  '0014-spilled-values': spilledValues,
  '0015-deleted-folders': deletedFolders,
  '0016-checksums': checksums(progress),
  '0017-unfinished-by-owner': unfinishedByOwner,
  '0018-previews-by-user': previewsByUser,
  '0019-graph-parts': graphParts,
  '0020-own-keys': ownKeys,
  '0021-result-parts': resultParts,
})

const NAMES = Object.keys(migrations(() => {}))

/**
 * This migration visits all rows in transactions of its own, and resumes after an interruption. The others are applied whole or not at all, together
 * with their record.
 */
const STEPWISE_MIGRATION = '0016-checksums'

/** SQLite rolls schema changes back with their transaction, which Kysely does not assume. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

class TransactionalDialect extends SqliteDialect {
  override createAdapter(): SqliteAdapter {
    return new TransactionalAdapter()
  }
}

/** The last migration of each transaction on the way to `to`. */
function migrationStages(to: string): string[] {
  const [inSteps, last] = [NAMES.indexOf(STEPWISE_MIGRATION), NAMES.indexOf(to)]
  const stages = new Set([inSteps - 1, inSteps, last].map((at) => Math.min(at, last)))
  return [...stages].map((at) => NAMES[at]!)
}

export interface MigrateOptions {
  /** The last migration to apply, by default the newest. */
  readonly to?: string
  /** Receives the progress of a long migration. */
  readonly progress?: Progress
}

/**
 * Migrates the database to the present schema, or to that of an earlier migration. After an interruption, the next call resumes.
 * @throws StartError when the database was written by a newer version
 */
export async function migrate(db: Database.Database, options: MigrateOptions = {}): Promise<void> {
  const { to = NAMES.at(-1)!, progress = () => {} } = options
  const applied = listAppliedMigrations(db)
  const unknown = applied.find((name) => !NAMES.includes(name))
  if (unknown !== undefined) {
    throw new StartError(
      `${db.name} was written by a newer version of the service (migration ${unknown}); start that version, or choose another data folder with SVC_DATA_DIR`,
    )
  }
  if (applied.includes(to)) return
  registerChecksumFunctions(db)
  // The migrator must not close the connection, which belongs to the store.
  const kysely = new Kysely<unknown>({ dialect: new TransactionalDialect({ database: db }) })
  const migrator = new Migrator({ db: kysely, provider: { getMigrations: async () => migrations(progress) } })
  for (const stage of migrationStages(to)) {
    if (applied.includes(stage)) continue
    const { error } = await migrator.migrateTo(stage, { disableTransactions: stage === STEPWISE_MIGRATION })
    if (error) throw error
  }
}

export function listKnownMigrations(): string[] {
  return [...NAMES]
}

/** The names of the migrations that a database has applied, in order. */
export function listAppliedMigrations(db: Database.Database): string[] {
  const table = db.prepare("select 1 from sqlite_master where type = 'table' and name = 'kysely_migration'").get()
  if (!table) return []
  return db.prepare('select name from kysely_migration order by name').pluck().all() as string[]
}
