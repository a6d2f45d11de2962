// `svc restore DIR`: restores a backup into the data folder of a stopped server. It deletes no existing data.
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Config } from '../../config.ts'
import { restoreIncomingFolderPath, restoringFolderPath } from '../../db/files/data-folder.ts'
import { fsyncFile, readAppliedMigrations, readDatabaseKeyFingerprint } from '../../db/files/database-copy.ts'
import { makePrivate } from '../../db/files/file-permissions.ts'
import { checkDatabase } from '../../db/integrity/database-check.ts'
import { lossAcceptancePath } from '../../db/loss-detection/commit-loss.ts'
import { commitMarkPath } from '../../db/loss-detection/commit-mark-file.ts'
import { listKnownMigrations } from '../../db/schema-migration.ts'
import { parseArguments } from '../shared/arguments.ts'
import { CommandError, EXIT_CODES, type Terminal, writeOutput } from '../shared/terminal.ts'
import { pluralize, replaceControlCharacters } from '../shared/terminal-text.ts'
import { type DataLocation, lockDataLocation, resolveDataLocation } from '../stored-data/data-location.ts'
import { findFreeSuffix, masterKeyAdvice } from '../stored-data/superseded-files.ts'
import {
  BACKUP_DATABASE,
  BACKUP_OBJECTS,
  BACKUP_TREES,
  type BackupManifest,
  compareWithManifest,
  copyFileDurably,
  fsyncFolders,
  listFilesBelow,
  readManifest,
} from './manifest.ts'
import { stageBackupFiles } from './restore-staging.ts'

const OPTIONS = { force: { type: 'boolean', default: false } } as const
const OWNER = 'svc restore'

/** Runs the command and returns its exit code. @throws CommandError, StartError */
export async function runRestoreCommand(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values, positionals } = parseArguments(args, OPTIONS, { least: 1, most: 1, what: 'DIR' })
  const source = resolve(positionals[0]!)
  const place = resolveDataLocation(config)
  const manifest = await readManifest(source)
  await requireRestorable(manifest, source)
  using _owned = lockDataLocation(place, OWNER)
  const present = await listPresentFiles(place)
  if (present.length > 0 && !values.force) {
    const message = `${replaceControlCharacters(place.folder)} holds data already (${present.map((path) => basename(path)).join(', ')})`
    throw new CommandError(EXIT_CODES.failed, `${message}; --force moves it aside`)
  }
  const incoming = restoreIncomingFolderPath(place.folder)
  await stageBackup(source, manifest, incoming, place)
  const stage = restoringFolderPath(place.folder)
  await blockServers(stage, incoming)
  const aside = await moveAside([...present, ...listCommitMarkFiles(place)])
  await installStagedData(stage, place)
  const key = masterKeyAdvice(place.folder, config.secrets_master_key, readNeededFingerprint(place.database))
  await writeOutput(terminal.stderr, summarizeRestore(source, manifest, aside, key))
  return EXIT_CODES.completed
}

/** Refuses a faulty backup before anything is changed. @throws CommandError with every problem */
async function requireRestorable(manifest: BackupManifest, source: string): Promise<void> {
  const problems: { path: string; message: string }[] = []
  for await (const message of compareWithManifest(manifest, source)) problems.push({ path: source, message })
  if (problems.length > 0)
    throw new CommandError(EXIT_CODES.failed, `${replaceControlCharacters(source)} is incomplete or damaged`, problems)
  const known = listKnownMigrations()
  const newer = readAppliedMigrations(join(source, BACKUP_DATABASE)).find((name) => !known.includes(name))
  if (newer !== undefined)
    throw new CommandError(
      EXIT_CODES.failed,
      `${replaceControlCharacters(source)} was made by a newer version of the service (migration ${newer})`,
    )
}

/** The files that a restore would replace. */
async function listPresentFiles(place: DataLocation): Promise<string[]> {
  const { database } = place
  const files = [database, `${database}-wal`, `${database}-shm`].filter((path) => existsSync(path))
  for (const tree of BACKUP_TREES) if ((await listFilesBelow(place[tree])).length > 0) files.push(place[tree])
  return files
}

/** The files that name the last commit of the database, even of a missing one: a restored database begins another count. */
function listCommitMarkFiles({ database }: DataLocation): string[] {
  return [commitMarkPath(database), lossAcceptancePath(database)].filter((path) => existsSync(path))
}

/** Copies the backup into `stage` and checks the copies. On failure the copies are removed. */
async function stageBackup(
  source: string,
  manifest: BackupManifest,
  stage: string,
  place: DataLocation,
): Promise<void> {
  try {
    await rm(stage, { recursive: true, force: true })
    for (const tree of BACKUP_TREES) await mkdir(join(stage, tree), { recursive: true, mode: 0o700 })
    await stageBackupFiles(source, manifest, stage, place)
    for await (const message of compareWithManifest(manifest, stage)) throw new CommandError(EXIT_CODES.failed, message)
    const [finding] = (await checkDatabase(join(stage, BACKUP_DATABASE))).filter(({ check }) => check === 'the file')
    if (finding)
      throw new CommandError(
        EXIT_CODES.failed,
        `the database of ${replaceControlCharacters(source)} is damaged: ${finding.text}`,
      )
  } catch (error) {
    await rm(stage, { recursive: true, force: true })
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof CommandError || code === undefined) throw error
    throw new CommandError(EXIT_CODES.failed, `the backup could not be copied: ${message}`)
  }
}

/**
 * Moves the collected files to `stage`, a folder whose name keeps servers from starting. The folder of an interrupted restore is reused and never
 * absent, since it may be the only sign of that restore.
 */
async function blockServers(stage: string, incoming: string): Promise<void> {
  await fsyncFolders(incoming)
  await mkdir(stage, { recursive: true, mode: 0o700 })
  fsyncFile(dirname(stage))
  for (const name of await readdir(stage)) await rm(join(stage, name), { recursive: true, force: true })
  for (const name of [BACKUP_DATABASE, ...BACKUP_TREES]) await rename(join(incoming, name), join(stage, name))
  await rm(incoming, { recursive: true, force: true })
  fsyncFile(stage)
}

/** Renames every file, and returns the suffix of the new names. */
async function moveAside(paths: readonly string[]): Promise<string | null> {
  if (paths.length === 0) return null
  // The write-ahead log keeps the name that SQLite expects beside the database.
  const renamed = (path: string, ending: string) => path.replace(/(?:-wal|-shm)?$/, (log) => ending + log)
  const ending = findFreeSuffix((ending) => paths.some((path) => existsSync(renamed(path, ending))))
  for (const path of paths) {
    makePrivate(path)
    await rename(path, renamed(path, ending))
  }
  return ending
}

async function installStagedData(stage: string, place: DataLocation): Promise<void> {
  const { folder, database } = place
  for (const tree of BACKUP_TREES) {
    await mkdir(dirname(place[tree]), { recursive: true, mode: 0o700 })
    await rm(place[tree], { recursive: true, force: true })
    await rename(join(stage, tree), place[tree])
  }
  await moveDatabase(join(stage, BACKUP_DATABASE), database)
  for (const changed of new Set([...BACKUP_TREES.map((tree) => dirname(place[tree])), dirname(database), folder]))
    fsyncFile(changed)
  // From here on servers may start.
  await rm(stage, { recursive: true })
}

/** Copies only if the database belongs on another disk. */
async function moveDatabase(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    const beside = `${to}.restoring`
    await copyFileDurably(from, beside)
    await rename(beside, to)
  }
}

/** The fingerprint of the key that the restored database needs; null: any key will do, or an older version wrote the database. */
function readNeededFingerprint(database: string): string | null {
  const applied = readAppliedMigrations(database)
  return listKnownMigrations().every((name) => applied.includes(name)) ? readDatabaseKeyFingerprint(database) : null
}

function summarizeRestore(
  source: string,
  { files, created_at }: BackupManifest,
  aside: string | null,
  key: string | null,
): string {
  const lines = [
    `svc: ${replaceControlCharacters(source)} of ${replaceControlCharacters(String(created_at))} is restored: the database and ${pluralize(files.filter(({ path }) => path.startsWith(`${BACKUP_OBJECTS}/`)).length, 'file')} of assets`,
  ]
  if (aside !== null) lines.push(`svc: the previous data was moved aside, to names that end with ${aside}`)
  if (key !== null) lines.push(`svc: ${key}`)
  return `${lines.join('\n')}\n`
}
