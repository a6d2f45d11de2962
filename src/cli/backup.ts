// `svc backup DIR`: a copy of everything that a server has stored, as it was at one moment, also while it runs.
import { existsSync } from 'node:fs'
import { mkdtemp, realpath, rename, rm } from 'node:fs/promises'
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path'
import type { Config } from '../config.ts'
import { checkDatabase } from '../db/check.ts'
import { isEmpty } from '../db/emptied.ts'
import { copyDatabase, syncFile } from '../db/snapshot.ts'
import { version } from '../version.ts'
import { readArguments } from './arguments.ts'
import {
  type BackupFile,
  copyWhole,
  DATABASE,
  fileOf,
  filesBelow,
  isBackup,
  type Manifest,
  OBJECTS,
  writeManifest,
} from './backup-folder.ts'
import { FILE_CHECKS } from './check-files.ts'
import { existingPlace, type Place } from './place.ts'
import { CommandError, EXIT, print, type Terminal } from './terminal.ts'
import { counted, grouped, harmless, printable } from './text.ts'

const OPTIONS = {
  force: { type: 'boolean', default: false },
  incomplete: { type: 'boolean', default: false },
} as const

/** Runs the command and gives its exit code. @throws CommandError */
export async function backup(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, { least: 1, most: 1, what: 'DIR' })
  const target = resolve(positionals[0]!)
  const place = existingPlace(config)
  await refuse(target, place, values.force)
  const incoming = await mkdtemp(`${target}.partial-`).catch((error) => {
    throw new CommandError(
      EXIT.failed,
      `${printable(dirname(target))} cannot be written (${(error as NodeJS.ErrnoException).code})`,
    )
  })
  try {
    const { manifest, lacks } = await fill(incoming, place)
    mayLack(lacks, target, values.incomplete)
    await putInPlace(incoming, target)
    await print(terminal.stderr, told(target, manifest, lacks))
    return EXIT.completed
  } catch (error) {
    await rm(incoming, { recursive: true, force: true })
    throw failure(error)
  }
}

async function refuse(target: string, { folder, database, objects }: Place, force: boolean): Promise<void> {
  const shown = printable(target)
  for (const own of [folder, objects])
    if (await liesIn(target, own))
      throw new CommandError(EXIT.failed, `${shown} lies in the data folder; choose a place outside of it`)
  if (isEmpty(database))
    throw new CommandError(EXIT.failed, `${printable(database)} is empty; see what "svc check" finds`)
  if (!existsSync(target)) return
  if (!force) throw new CommandError(EXIT.failed, `${shown} exists; --force replaces it`)
  if (!(await isBackup(target))) throw new CommandError(EXIT.failed, `${shown} is no backup, and is not replaced`)
}

/** Whether `path`, which need not be there, is `folder` or below it, wherever links lead. */
async function liesIn(path: string, folder: string): Promise<boolean> {
  const real = async (name: string): Promise<string> => {
    const found = await realpath(name).catch(() => null)
    if (found !== null || dirname(name) === name) return found ?? name
    return join(await real(dirname(name)), basename(name))
  }
  const way = relative(await real(folder), await real(path))
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way)
}

interface Filled {
  readonly manifest: Manifest
  /** A sentence about each file that the copied rows name and that is not as they say. */
  readonly lacks: readonly string[]
}

async function fill(folder: string, place: Place): Promise<Filled> {
  const [database, objects] = [join(folder, DATABASE), join(folder, OBJECTS)]
  // Files that the copy of the database names are there before it, or come while it is made: the second round finds those.
  await copyObjects(place.objects, folder)
  const migrations = copyDatabase(place.database, database)
  await copyObjects(place.objects, folder)
  const lacks = await lacking({ folder, database, objects })
  const files: BackupFile[] = []
  for (const path of [DATABASE, ...(await filesBelow(objects)).map((path) => `${OBJECTS}/${path}`)])
    files.push(await fileOf(folder, path))
  const created_at = new Date().toISOString()
  const manifest: Manifest = {
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

async function copyObjects(from: string, folder: string): Promise<void> {
  for (const path of await filesBelow(from)) {
    const to = join(folder, OBJECTS, path)
    // One that is there already has the same content: its name says so.
    if (!existsSync(to)) await copyWhole(join(from, path), to)
  }
}

/** Holds the copied files against the copied rows. @throws CommandError where the rows cannot be read */
async function lacking(copy: Place): Promise<string[]> {
  const findings = await checkDatabase(copy.database)
  const damage = findings.find(({ check }) => check === 'the file')
  if (damage) throw new CommandError(EXIT.failed, `the copy is not sound (${damage.text}); see what "svc check" finds`)
  const lacks: string[] = []
  // Of the rows of another version nobody knows here which files they name.
  if (findings.some(({ check }) => check === 'the version')) return lacks
  for (const { look } of FILE_CHECKS) for await (const text of look(copy)) lacks.push(text)
  return lacks
}

/** Only who asks for it gets a backup that lacks something, and never in the place of another. @throws CommandError */
function mayLack(lacks: readonly string[], target: string, incomplete: boolean): void {
  if (lacks.length === 0 || (incomplete && !existsSync(target))) return
  const advice = incomplete
    ? 'a backup that is there already is not replaced by it'
    : '--incomplete makes it all the same'
  const problems = lacks.map((message) => ({ path: OBJECTS, message }))
  throw new CommandError(EXIT.failed, `the backup would not be whole; ${advice}`, problems)
}

/** The old backup goes when the new one is whole. */
async function putInPlace(incoming: string, target: string): Promise<void> {
  const old = existsSync(target) ? `${incoming}-old` : null
  if (old !== null) await rename(target, old)
  await rename(incoming, target)
  syncFile(dirname(target))
  if (old !== null) await rm(old, { recursive: true })
}

function failure(error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException
  if (error instanceof CommandError || code === undefined) return error
  const advice = /^SQLITE_(CORRUPT|NOTADB)/.test(code) ? '; see what "svc check" finds' : ''
  return new CommandError(EXIT.failed, `the backup failed: ${message} (${code})${advice}`)
}

function told(target: string, { files }: Manifest, lacks: readonly string[]): string {
  const [database, ...objects] = files as [BackupFile, ...BackupFile[]]
  const bytes = objects.reduce((sum, { size }) => sum + size, 0)
  const assets = `${counted(objects.length, 'file')} of assets (${grouped(bytes)} bytes)`
  const warnings = lacks.map((text) => harmless(`svc: not whole: ${OBJECTS}: ${text}\n`)).join('')
  return `${warnings}svc: ${printable(target)} holds the database (${grouped(database.size)} bytes) and ${assets}
svc: the master key is not included, so that who reads the backup reads no secrets: keep a copy of it in another place
`
}
