// Copies a database to a new file, also while a server writes it.
import { chmodSync, closeSync, constants, fsyncSync, openSync } from 'node:fs'
import { connectForReading } from './connection.ts'
import { codeOf } from './faults.ts'
import { migrationsOf } from './migrate.ts'
import { sealedUnder } from './sealed.ts'
import { type StructureDamage, structureDamages } from './structure.ts'
import { STRICT, Statements } from './tx.ts'

export interface CopiedDatabase {
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
export function copyDatabase(path: string, to: string): CopiedDatabase {
  const db = connectForReading(path)
  let damages: readonly StructureDamage[]
  try {
    // No transaction may be open around a copy. What is damaged before it stays so, or is gone: either shows here.
    damages = structureDamages(db)
    db.prepare('vacuum into ?').run(to)
  } finally {
    db.close()
  }
  chmodSync(to, 0o600)
  syncFile(to)
  return { migrations: migrationsIn(to), damages }
}

/** The migrations that the database at `path` has seen. */
export function migrationsIn(path: string): string[] {
  const db = connectForReading(path)
  try {
    return migrationsOf(db)
  } finally {
    db.close()
  }
}

/** The fingerprint of the one key that the database at `path` opens with; null where any will do. It has the present schema. */
export function keyFingerprintIn(path: string): string | null {
  const db = connectForReading(path)
  try {
    return sealedUnder(new Statements(db, STRICT))
  } finally {
    db.close()
  }
}

/** Waits until the disk has a file, or the names in a folder. Windows opens no folders, and keeps names without that. */
export function syncFile(path: string): void {
  let file: number
  try {
    file = openSync(path, constants.O_RDONLY)
  } catch (error) {
    if (['EISDIR', 'EPERM'].includes(codeOf(error))) return
    throw error
  }
  try {
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
}
