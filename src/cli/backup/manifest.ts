// The format of a backup: a folder with the database, the files of assets and of journals, and a manifest with the digest of each.
import { constants } from 'node:fs'
import { chmod, copyFile, mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fsyncFile } from '../../db/files/database-copy.ts'
import { fsyncFolder } from '../../shared/fsync-folder.ts'
import { CommandError, EXIT_CODES } from '../shared/terminal.ts'
import { replaceControlCharacters } from '../shared/terminal-text.ts'
import { computeFileDigest } from '../stored-data/file-checks.ts'

export const BACKUP_DATABASE = 'svc.db'
export const BACKUP_OBJECTS = 'objects'
export const BACKUP_JOURNAL = 'journal'
/** The folders of files in a backup. */
export const BACKUP_TREES = [BACKUP_OBJECTS, BACKUP_JOURNAL] as const
const MANIFEST = 'manifest.json'
const FORMAT = 1

export interface BackupFile {
  /** Relative to the backup's folder, with slashes. */
  readonly path: string
  readonly size: number
  readonly sha256: string
}

export interface BackupManifest {
  readonly format: typeof FORMAT
  readonly service_version: string
  readonly created_at: string
  readonly migrations: readonly string[]
  /** The database first, then the files of assets and of journals. */
  readonly files: readonly BackupFile[]
  readonly master_key: 'not included'
}

/** The manifest entry of a file in a backup's folder. */
export async function describeBackupFile(folder: string, path: string): Promise<BackupFile> {
  const whole = join(folder, ...path.split('/'))
  return { path, size: (await stat(whole)).size, sha256: await computeFileDigest(whole) }
}

/** Paths of all files below a folder, with slashes, in order; none if the folder is missing. */
export async function listFilesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error) => {
    if (isMissing(error)) return []
    throw error
  })
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) =>
      join(entry.parentPath, entry.name)
        .slice(folder.length + 1)
        .replaceAll('\\', '/'),
    )
    .sort()
}

/**
 * Copies a file unless the complete file exists already: its name identifies its content. A journal file has its name while it is being written, so
 * an earlier copy may be incomplete.
 */
export async function copyFileIfMissing(from: string, to: string): Promise<void> {
  const sizeOf = async (path: string) => (await stat(path).catch(nullWhereMissing))?.size ?? null
  const copied = await sizeOf(to)
  // A file that was removed meanwhile keeps its copy: the copied rows may refer to it.
  if (copied !== null && [copied, null].includes(await sizeOf(from))) return
  await copyFileDurably(from, to)
}

/** Copies a file with its time, private to the user, and syncs it; false: it was removed meanwhile. */
export async function copyFileDurably(from: string, to: string): Promise<boolean> {
  await mkdir(dirname(to), { recursive: true, mode: 0o700 })
  try {
    const { atime, mtime } = await stat(from)
    // Shares blocks if the file system can, which is as good as a copy and free.
    await copyFile(from, to, constants.COPYFILE_FICLONE)
    await chmod(to, 0o600)
    await utimes(to, atime, mtime)
  } catch (error) {
    if (isMissing(error)) return false
    throw error
  }
  fsyncFile(to)
  return true
}

export async function writeManifest(folder: string, manifest: BackupManifest): Promise<void> {
  const path = join(folder, MANIFEST)
  await writeFile(path, `${JSON.stringify(manifest, null, 2)}\n`, { mode: 0o600 })
  fsyncFile(path)
}

/** Syncs the names in a folder and in all folders below it. */
export async function fsyncFolders(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true }))
    if (entry.isDirectory()) fsyncFolder(join(entry.parentPath, entry.name))
  fsyncFolder(folder)
}

/** Whether a folder is a backup, judged by the name of its manifest. */
export async function isBackup(folder: string): Promise<boolean> {
  return (await stat(join(folder, MANIFEST)).catch(() => null)) !== null
}

/** @throws CommandError if the folder is not a backup, or has a format that this version does not know */
export async function readManifest(folder: string): Promise<BackupManifest> {
  const manifest = await readJsonRecord(join(folder, MANIFEST))
  if (manifest === null)
    throw new CommandError(
      EXIT_CODES.failed,
      `${replaceControlCharacters(folder)} is not a backup: its ${MANIFEST} cannot be read`,
    )
  if (manifest.format !== FORMAT)
    throw new CommandError(
      EXIT_CODES.failed,
      `${replaceControlCharacters(folder)} was made by another version of the service (format ${manifest.format})`,
    )
  const { files, migrations } = manifest
  const whole =
    Array.isArray(files) && Array.isArray(migrations) && files.every(isBackupFile) && files[0]?.path === BACKUP_DATABASE
  if (!whole)
    throw new CommandError(
      EXIT_CODES.failed,
      `${replaceControlCharacters(folder)} is not a backup: its ${MANIFEST} is damaged`,
    )
  return manifest as unknown as BackupManifest
}

async function readJsonRecord(path: string): Promise<Record<string, unknown> | null> {
  try {
    const value: unknown = JSON.parse(await readFile(path, 'utf8'))
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : null
  } catch {
    return null
  }
}

// A manifest may come from anywhere: its files must lie in the backup.
function isBackupFile(file: unknown): file is BackupFile {
  const { path, size, sha256 } = (file ?? {}) as Record<string, unknown>
  return (
    typeof path === 'string' &&
    (path === BACKUP_DATABASE || BACKUP_TREES.some((tree) => path.startsWith(`${tree}/`))) &&
    path.split('/').every((part) => part !== '' && part !== '.' && part !== '..' && !/[\\\0]/.test(part)) &&
    Number.isSafeInteger(size) &&
    typeof sha256 === 'string'
  )
}

/** A sentence for each file of a folder that differs from `manifest`. */
export async function* compareWithManifest({ files }: BackupManifest, folder: string): AsyncIterable<string> {
  for (const expected of files) {
    const found = await describeBackupFile(folder, expected.path).catch(() => null)
    if (found === null) yield `${expected.path} is missing`
    else if (found.size !== expected.size || found.sha256 !== expected.sha256)
      yield `${expected.path} differs from the manifest`
  }
}

function nullWhereMissing(error: unknown): null {
  if (isMissing(error)) return null
  throw error
}

function isMissing(error: unknown): boolean {
  return ['ENOENT', 'ENOTDIR'].includes((error as NodeJS.ErrnoException).code ?? '')
}
