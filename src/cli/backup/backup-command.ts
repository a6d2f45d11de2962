// `svc backup DIR`: copies everything that a server has stored, as of one moment, even while the server runs.
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../../config.ts'
import { copyDatabase, type DatabaseCopy, fsyncFile } from '../../db/files/database-copy.ts'
import { checkDatabase, ROW_CHECKSUM_CHECK } from '../../db/integrity/database-check.ts'
import { describeLoss, detectLoss } from '../../db/loss-detection/commit-loss.ts'
import { isEmptyFile } from '../../db/loss-detection/missing-database.ts'
import { version } from '../../version.ts'
import { copyMissingFromBucket } from '../far-copies.ts'
import { parseArguments } from '../shared/arguments.ts'
import { toCommandFailure } from '../shared/command-failure.ts'
import { isPathInside } from '../shared/path-containment.ts'
import { CommandError, EXIT_CODES, type Terminal, writeOutput } from '../shared/terminal.ts'
import { formatInteger, pluralize, replaceControlCharacters, stripControlCharacters } from '../shared/terminal-text.ts'
import { BucketFiles } from '../stored-data/bucket-files.ts'
import { type DataLocation, requireDataLocation } from '../stored-data/data-location.ts'
import { FILE_CHECKS } from '../stored-data/file-checks.ts'
import { JournalLease } from './journal-lease.ts'
import {
  BACKUP_DATABASE,
  BACKUP_JOURNAL,
  BACKUP_OBJECTS,
  BACKUP_TREES,
  type BackupFile,
  type BackupManifest,
  copyFileIfMissing,
  describeBackupFile,
  fsyncFolders,
  isBackup,
  listFilesBelow,
  writeManifest,
} from './manifest.ts'

const OPTIONS = {
  force: { type: 'boolean', default: false },
  incomplete: { type: 'boolean', default: false },
} as const

/** Runs the command and returns its exit code. @throws CommandError */
export async function runBackupCommand(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values, positionals } = parseArguments(args, OPTIONS, { least: 1, most: 1, what: 'DIR' })
  const target = resolve(positionals[0]!)
  const place = requireDataLocation(config)
  await requireUsableTarget(target, place, values.force)
  const incoming = await mkdtemp(`${target}.partial-`).catch((error) => {
    throw new CommandError(
      EXIT_CODES.failed,
      `${replaceControlCharacters(dirname(target))} cannot be written (${(error as NodeJS.ErrnoException).code})`,
    )
  })
  try {
    const { manifest, lacks } = await fillBackup(incoming, place)
    requireCompleteBackup(lacks, target, values.incomplete)
    await replaceTarget(incoming, target)
    await writeOutput(terminal.stderr, summarizeBackup(target, manifest, lacks))
    return EXIT_CODES.completed
  } catch (error) {
    await rm(incoming, { recursive: true, force: true })
    throw toCommandFailure('the backup', error)
  }
}

async function requireUsableTarget(
  target: string,
  { folder, database, objects, journal }: DataLocation,
  force: boolean,
): Promise<void> {
  const shown = replaceControlCharacters(target)
  for (const own of [folder, objects, journal])
    if (await isPathInside(target, own))
      throw new CommandError(EXIT_CODES.failed, `${shown} lies in the data folder; choose a place outside of it`)
  if (isEmptyFile(database))
    throw new CommandError(
      EXIT_CODES.failed,
      `${replaceControlCharacters(database)} is empty; see what "svc check" finds`,
    )
  if (!existsSync(target)) return
  if (!force) throw new CommandError(EXIT_CODES.failed, `${shown} exists; --force replaces it`)
  if (!(await isBackup(target)))
    throw new CommandError(EXIT_CODES.failed, `${shown} is not a backup, and is not replaced`)
}

interface BackupContent {
  readonly manifest: BackupManifest
  readonly lacks: readonly BackupGap[]
}

/** A referenced file that differs from its row, a damaged row, rows that may be missing, or missing commits. */
interface BackupGap {
  readonly path: typeof BACKUP_DATABASE | (typeof BACKUP_TREES)[number]
  readonly message: string
}

async function fillBackup(folder: string, place: DataLocation): Promise<BackupContent> {
  const [database, objects, journal] = [
    join(folder, BACKUP_DATABASE),
    join(folder, BACKUP_OBJECTS),
    join(folder, BACKUP_JOURNAL),
  ]
  const loss = detectLoss(place.database)
  let copied: DatabaseCopy
  {
    using holder = new JournalLease(place.folder)
    using far = BucketFiles.openIfConfigured(place)
    // Files that the database copy refers to exist before it, or come while it is made: the second round copies those.
    await copyFiles(place, folder, holder)
    if (far) await copyMissingFromBucket(far, place.objects, place.database, objects)
    copied = copyDatabase(place.database, database)
    await copyFiles(place, folder, holder)
    if (far) await copyMissingFromBucket(far, place.objects, database, objects)
  }
  const lacks = await findGaps({ folder, database, objects, journal })
  const { migrations, damages } = copied
  for (const { table, text } of damages)
    lacks.unshift({
      path: BACKUP_DATABASE,
      message: `rows of ${table} may be missing, its structure is damaged: ${text}`,
    })
  if (loss !== null) lacks.unshift({ path: BACKUP_DATABASE, message: describeLoss(loss) })
  const files: BackupFile[] = [await describeBackupFile(folder, BACKUP_DATABASE)]
  for (const tree of BACKUP_TREES)
    for (const path of await listFilesBelow(join(folder, tree)))
      files.push(await describeBackupFile(folder, `${tree}/${path}`))
  const created_at = new Date().toISOString()
  const manifest: BackupManifest = {
    format: 1,
    service_version: version,
    created_at,
    migrations,
    master_key: 'not included',
    files,
  }
  await writeManifest(folder, manifest)
  return { manifest, lacks }
}

async function copyFiles(place: DataLocation, folder: string, holder: JournalLease): Promise<void> {
  for (const tree of BACKUP_TREES)
    for (const path of await listFilesBelow(place[tree])) {
      holder.renew()
      await copyFileIfMissing(join(place[tree], path), join(folder, tree, path))
    }
}

/** Compares the copied files with the copied rows. @throws CommandError if the rows cannot be read */
async function findGaps(copy: DataLocation): Promise<BackupGap[]> {
  const findings = await checkDatabase(copy.database)
  const damage = findings.find(({ check }) => check === 'the file')
  if (damage)
    throw new CommandError(EXIT_CODES.failed, `the copy is not sound (${damage.text}); see what "svc check" finds`)
  const lacks: BackupGap[] = findings
    .filter(({ check }) => check === ROW_CHECKSUM_CHECK)
    .map(({ text }) => ({ path: BACKUP_DATABASE, message: text }))
  // This version does not know to which files the rows of another version refer.
  if (findings.some(({ check }) => check === 'the version')) return lacks
  for (const { tree, findProblems } of FILE_CHECKS)
    for await (const message of findProblems(copy)) lacks.push({ path: tree, message })
  return lacks
}

/** A backup that lacks something is made only on request, and never replaces a backup. @throws CommandError */
function requireCompleteBackup(lacks: readonly BackupGap[], target: string, incomplete: boolean): void {
  if (lacks.length === 0 || (incomplete && !existsSync(target))) return
  const advice = incomplete ? 'an existing backup is not replaced by it' : '--incomplete makes it nevertheless'
  throw new CommandError(EXIT_CODES.failed, `the backup would be incomplete; ${advice}`, lacks)
}

/** Removes the old backup once the new one is complete and on the disk. */
async function replaceTarget(incoming: string, target: string): Promise<void> {
  await fsyncFolders(incoming)
  const old = existsSync(target) ? `${incoming}-old` : null
  if (old !== null) await rename(target, old)
  try {
    await rename(incoming, target)
  } catch (error) {
    if (old !== null) await rename(old, target)
    throw error
  }
  fsyncFile(dirname(target))
  if (old !== null) await rm(old, { recursive: true })
}

function summarizeBackup(target: string, { files }: BackupManifest, lacks: readonly BackupGap[]): string {
  const [database, ...others] = files as [BackupFile, ...BackupFile[]]
  const held = (tree: string) => {
    const found = others.filter(({ path }) => path.startsWith(`${tree}/`))
    return [found.length, formatInteger(found.reduce((sum, { size }) => sum + size, 0))] as const
  }
  const [[objects, bytes], [values, journal]] = [held(BACKUP_OBJECTS), held(BACKUP_JOURNAL)]
  const remembered = values === 0 ? '' : `, and ${pluralize(values, 'file')} of journals (${journal} bytes)`
  const assets = `${pluralize(objects, 'file')} of assets (${bytes} bytes)${remembered}`
  const warnings = lacks
    .map(({ path, message }) => stripControlCharacters(`svc: incomplete: ${path}: ${message}\n`))
    .join('')
  return `${warnings}svc: ${replaceControlCharacters(target)} holds the database (${formatInteger(database.size)} bytes) and ${assets}
svc: the master key is not included, so the backup reveals no secrets: keep a copy of the key in another place
`
}
