// Classifies faults of a database's disk or file by the errors of SQLite and Node, and gives the remedy of each.
import { accessSync, constants, statfsSync } from 'node:fs'
import { dirname } from 'node:path'
import { StartError } from '../../start-error.ts'
import { DamagedRowError } from '../integrity/damaged-row.ts'

/** `damaged` stays until the operator repairs it; the other faults may pass by themselves. */
export type DatabaseFault = 'full' | 'read_only' | 'damaged' | 'locked' | 'unreachable'

const FAULTS_BY_CODE: readonly (readonly [prefix: string, fault: DatabaseFault])[] = [
  ['SQLITE_CORRUPT', 'damaged'],
  ['SQLITE_NOTADB', 'damaged'],
  // The file ends before a page that belongs to the database.
  ['SQLITE_IOERR_SHORT_READ', 'damaged'],
  ['SQLITE_IOERR_CORRUPTFS', 'damaged'],
  ['SQLITE_FULL', 'full'],
  ['SQLITE_READONLY', 'read_only'],
  ['SQLITE_PERM', 'read_only'],
  ['SQLITE_BUSY', 'locked'],
  ['SQLITE_PROTOCOL', 'locked'],
  ['SQLITE_IOERR', 'unreachable'],
  ['SQLITE_CANTOPEN', 'unreachable'],
  ['ENOSPC', 'full'],
  ['EDQUOT', 'full'],
  ['EROFS', 'read_only'],
  ['EIO', 'unreachable'],
]

/** The fault that `error` reports; null for everything else, such as a violated constraint. `path` is the database file. */
export function classifyFault(error: unknown, path: string): DatabaseFault | null {
  const fault = faultByCode(error)
  // An input/output error does not tell its reason.
  return fault === 'unreachable' ? (findWriteObstacle(path) ?? fault) : fault
}

/** Whether `error` says that the file is damaged. */
export function isDamagedFile(error: unknown): boolean {
  return faultByCode(error) === 'damaged'
}

function faultByCode(error: unknown): DatabaseFault | null {
  const code = errorCode(error)
  return FAULTS_BY_CODE.find(([prefix]) => code.startsWith(prefix))?.[1] ?? null
}

/** The code of an error of SQLite or Node: `SQLITE_FULL`, `EROFS`; '' if there is none. */
export function errorCode(error: unknown): string {
  const code = (error as { code?: unknown } | null)?.code
  return typeof code === 'string' ? code : ''
}

/** With less free space, a write of any size may fail. */
const LEAST_ROOM_BYTES = 256 * 1024

/** What prevents writing `path`, according to the file system; null: nothing known. */
export function findWriteObstacle(path: string): 'full' | 'read_only' | null {
  try {
    accessSync(path, constants.W_OK)
    accessSync(dirname(path), constants.W_OK)
    const { bavail, bsize } = statfsSync(dirname(path))
    return bavail * bsize < LEAST_ROOM_BYTES ? 'full' : null
  } catch (error) {
    return ['EROFS', 'EACCES', 'EPERM'].includes(errorCode(error)) ? 'read_only' : null
  }
}

/** Cause and remedy in one line, for the log. */
export const FAULT_ADVICE: Readonly<Record<DatabaseFault, (path: string) => string>> = {
  full: (path) =>
    `${path} cannot be written because the disk is full: make room; until then, requests that need it fail with 503`,
  read_only: (path) => `${path} cannot be written: check its mount, owner and mode, and those of its folder`,
  damaged: (path) =>
    `${path} is damaged, and nothing more is written to it: stop the service, see what "svc check" finds, and bring a backup back with "svc restore DIR"`,
  locked: (path) => `${path} is locked by another program: end it`,
  unreachable: (path) => `${path} cannot be read or written: check the disk and its mount`,
}

const DAMAGED_AT_START = (path: string) =>
  `${path} is damaged; see what "svc check" finds, restore a backup with "svc restore DIR", or choose another data folder with SVC_DATA_DIR`

const AT_START: Readonly<Record<string, (path: string) => string>> = {
  SQLITE_NOTADB: (path) => `${path} is not a database; move it away or choose another data folder with SVC_DATA_DIR`,
  SQLITE_CORRUPT: DAMAGED_AT_START,
  SQLITE_IOERR_SHORT_READ: DAMAGED_AT_START,
  SQLITE_IOERR_CORRUPTFS: DAMAGED_AT_START,
  // Statements at a start never change, so the error means a damaged schema or search index.
  SQLITE_ERROR: DAMAGED_AT_START,
  SQLITE_READONLY: (path) => `${path} cannot be written; check its owner and mode`,
  SQLITE_CANTOPEN: (path) => `${path} cannot be opened; check the folder's owner and mode`,
  SQLITE_BUSY: (path) => `${path} is locked by another program`,
  SQLITE_FULL: (path) => `${path} cannot be written: the disk is full; make room`,
  SQLITE_IOERR: (path) => `${path} cannot be read or written; check the disk, its room and its mount`,
}

/** The error of opening a database, as a StartError if it is a fault; any other error unchanged. */
export function toStartError(error: unknown, path: string): unknown {
  const code = error instanceof DamagedRowError ? 'SQLITE_CORRUPT' : errorCode(error)
  const known = Object.keys(AT_START).find((prefix) => code.startsWith(prefix))
  return known ? new StartError(AT_START[known]!(path), { cause: error }) : error
}

/** The error of a start that met a fault after opening the database, such as damage in pages that the opening does not read. */
export function startErrorForFault(fault: DatabaseFault, path: string, cause: unknown): StartError {
  return new StartError(fault === 'damaged' ? DAMAGED_AT_START(path) : FAULT_ADVICE[fault](path), { cause })
}
