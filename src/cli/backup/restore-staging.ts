// Puts the files of a backup into the data folder, beside its present data. Files of assets and journals that are there already with the same content
// are shared rather than copied. The disk space is checked before the first copy.
import { constants } from 'node:fs'
import { copyFile, link, mkdir, rm, stat, statfs } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { CommandError, EXIT_CODES } from '../shared/terminal.ts'
import { formatInteger, replaceControlCharacters } from '../shared/terminal-text.ts'
import type { DataLocation } from '../stored-data/data-location.ts'
import {
  BACKUP_DATABASE,
  BACKUP_TREES,
  type BackupFile,
  type BackupManifest,
  copyFileDurably,
  describeBackupFile,
} from './manifest.ts'

/** Bytes that must remain free for file systems and logs. */
const SPARE = 1024 * 1024

/**
 * Puts every file of the backup `source` into `stage`.
 * @throws CommandError if the disk has no room, with the missing bytes and before any copy; or the error of the file system
 */
export async function stageBackupFiles(
  source: string,
  { files }: BackupManifest,
  stage: string,
  place: DataLocation,
): Promise<void> {
  const kept = await findIdenticalFiles(files, place)
  const [database, ...others] = files as [BackupFile, ...BackupFile[]]
  const copied = [database, ...others.filter((file) => !kept.has(file))]
  if (!(await canShareBlocks(join(source, BACKUP_DATABASE), join(stage, 'shared'))))
    await requireDiskSpace(copied, stage, place)
  for (const { path } of copied) await copyFileDurably(join(source, path), join(stage, path))
  for (const { path } of kept) {
    const to = join(stage, path)
    await mkdir(dirname(to), { recursive: true, mode: 0o700 })
    // A hard link takes no room. File systems without hard links get a copy.
    await link(targetPath(place, path), to).catch(() => copyFileDurably(join(source, path), to))
  }
}

/**
 * The files that the data folder has with the same content as the backup. Their content never changes, so old and new data may share them. The backup
 * shares nothing with either.
 */
async function findIdenticalFiles(files: readonly BackupFile[], place: DataLocation): Promise<ReadonlySet<BackupFile>> {
  const found = new Set<BackupFile>()
  for (const file of files) {
    if (file.path === BACKUP_DATABASE) continue
    const path = targetPath(place, file.path)
    if ((await stat(path).catch(() => null))?.size !== file.size) continue
    const { sha256 } = await describeBackupFile(dirname(path), path.slice(dirname(path).length + 1))
    if (sha256 === file.sha256) found.add(file)
  }
  return found
}

function targetPath(place: DataLocation, path: string): string {
  const tree = BACKUP_TREES.find((name) => path.startsWith(`${name}/`))!
  return join(place[tree], path.slice(tree.length + 1))
}

/** Whether a copy of `from` shares its blocks, and so takes no room. */
async function canShareBlocks(from: string, to: string): Promise<boolean> {
  try {
    await copyFile(from, to, constants.COPYFILE_FICLONE_FORCE)
    return true
  } catch {
    return false
  } finally {
    await rm(to, { force: true })
  }
}

async function requireDiskSpace(
  copied: readonly BackupFile[],
  stage: string,
  { database }: DataLocation,
): Promise<void> {
  const sizes = copied.reduce((sum, { size }) => sum + size, SPARE)
  await requireFreeBytes(stage, sizes)
  const elsewhere = dirname(database)
  if ((await stat(elsewhere)).dev !== (await stat(stage)).dev)
    await requireFreeBytes(elsewhere, copied[0]!.size + SPARE)
}

async function requireFreeBytes(folder: string, bytes: number): Promise<void> {
  const { bavail, bsize } = await statfs(folder)
  const missing = bytes - bavail * bsize
  if (missing <= 0) return
  const what = `the backup needs ${formatInteger(bytes)} bytes at ${replaceControlCharacters(folder)}, but ${formatInteger(missing)} of them are not free`
  throw new CommandError(EXIT_CODES.failed, what)
}
