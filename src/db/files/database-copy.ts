// Copies a database to a new file, even while a server writes it.
import { chmodSync, closeSync, constants, fsyncSync, openSync } from 'node:fs'
import { openReadOnlyConnection } from '../connection.ts'
import { errorCode } from '../health/database-faults.ts'
import { findStructureDamages, type StructureDamage } from '../integrity/structure-damage.ts'
import { listAppliedMigrations } from '../schema-migration.ts'
import { readSealKeyFingerprint } from '../sealed-columns.ts'
import { STRICT_DAMAGE_LISTENER, TransactionStatements } from '../transaction.ts'

export interface DatabaseCopy {
  /** The migrations that the copy has. */
  readonly migrations: string[]
  /** The damages of the database's structure: the copy holds everything reachable, and its own structure is sound. */
  readonly damages: readonly StructureDamage[]
}

/**
 * Copies the database at `path`, as of one moment, to the new file `to`, and syncs it. Writers continue meanwhile. The copy is written row by row: it
 * has the minimal size, holds no deleted data, and succeeds only if every page could be read. It is private to the user.
 * @throws the error of SQLite
 */
export function copyDatabase(path: string, to: string): DatabaseCopy {
  const db = openReadOnlyConnection(path)
  let damages: readonly StructureDamage[]
  try {
    // No transaction may be open during the copy. Damage that exists before the copy remains or disappears with it: both show here.
    damages = findStructureDamages(db)
    db.prepare('vacuum into ?').run(to)
  } finally {
    db.close()
  }
  chmodSync(to, 0o600)
  fsyncFile(to)
  return { migrations: readAppliedMigrations(to), damages }
}

/** The migrations that the database at `path` has applied. */
export function readAppliedMigrations(path: string): string[] {
  const db = openReadOnlyConnection(path)
  try {
    return listAppliedMigrations(db)
  } finally {
    db.close()
  }
}

/** The fingerprint of the key that the database at `path` needs; null: any key will do. The database has the present schema. */
export function readDatabaseKeyFingerprint(path: string): string | null {
  const db = openReadOnlyConnection(path)
  try {
    return readSealKeyFingerprint(new TransactionStatements(db, STRICT_DAMAGE_LISTENER))
  } finally {
    db.close()
  }
}

/** Syncs a file, or the names in a folder. Windows does not open folders, and keeps names without this. */
export function fsyncFile(path: string): void {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY)
  } catch (error) {
    if (['EISDIR', 'EPERM'].includes(errorCode(error))) return
    throw error
  }
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
