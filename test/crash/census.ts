// Reads the stored jobs from the database of an ended server. Reading leaves the files unchanged.
import { join } from 'node:path'
import Database from 'better-sqlite3'

export interface CensusRow {
  readonly id: string
  readonly status: string
  readonly last_sequence: number
}

export const RUNNING = ['running', 'recovering', 'cancel_requested']

export function databaseOf(data_dir: string): string {
  return join(data_dir, 'svc.db')
}

/** All stored jobs. */
export function census(data_dir: string): CensusRow[] {
  const db = new Database(databaseOf(data_dir), { readonly: true })
  try {
    return db.prepare('select id, status, last_sequence from job').all() as CensusRow[]
  } finally {
    db.close()
  }
}
