// Copies a database to a new file, also while a server writes it.
import { chmodSync, closeSync, constants, fsyncSync, openSync } from 'node:fs'
import { openReadOnlyConnection } from '../connection.ts'
import { errorCode } from '../health/database-faults.ts'
import { findStructureDamages, type StructureDamage } from '../integrity/structure-damage.ts'
import { listAppliedMigrations } from '../schema-migration.ts'
import { readSealKeyFingerprint } from '../sealed-columns.ts'
import { STRICT_DAMAGE_LISTENER, TransactionStatements } from '../transaction.ts'

export interface DatabaseCopy {
  /** Those that the copy has seen. */
  readonly migrations: string[]
  /** What was damaged in the structure of the database: the copy holds what can be reached, and its own structure is sound. */
  readonly damages: readonly StructureDamage[]
}

/**
 * Writes what the database at `path` holds at one moment to the new file `to`, and syncs it. Writers go on meanwhile.
 * The copy is written anew, row by row: it is no larger than it has to be, holds nothing that was deleted, and comes about
 * only if every page could be read. Nobody but its owner may read it.
 * @throws what SQLite says
 */
export function copyDatabase(path: string, to: string): DatabaseCopy {
  const db = openReadOnlyConnection(path)
  let damages: readonly StructureDamage[]
  try {
    // No transaction may be open around a copy. What is damaged before it stays so, or is gone: either shows here.
    damages = findStructureDamages(db)
    db.prepare('vacuum into ?').run(to)
  } finally {
    db.close()
  }
  chmodSync(to, 0o600)
  fsyncFile(to)
  return { migrations: readAppliedMigrations(to), damages }
}

/** The migrations that the database at `path` has seen. */
export function readAppliedMigrations(path: string): string[] {
  const db = openReadOnlyConnection(path)
  try {
    return listAppliedMigrations(db)
  } finally {
    db.close()
  }
}

/** The fingerprint of the one key that the database at `path` opens with; null where any will do. It has the present schema. */
export function readDatabaseKeyFingerprint(path: string): string | null {
  const db = openReadOnlyConnection(path)
  try {
    return readSealKeyFingerprint(new TransactionStatements(db, STRICT_DAMAGE_LISTENER))
  } finally {
    db.close()
  }
}

/** Waits until the disk has a file, or the names in a folder. Windows opens no folders, and keeps names without that. */
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
