// `svc backup DIR`: a copy of everything that a server has stored, as it was at one moment, also while it runs.
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { checkDatabase } from '../db/check.ts'
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
import { existingPlace, type Place } from './place.ts'
import { CommandError, EXIT, print, type Terminal } from './terminal.ts'
import { counted, grouped } from './text.ts'

const OPTIONS = { force: { type: 'boolean', default: false } } as const

/** Runs the command and gives its exit code. @throws CommandError */
export async function backup(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, { least: 1, most: 1, what: 'DIR' })
  const target = resolve(positionals[0]!)
  const place = existingPlace(config)
  await refuse(target, values.force)
  const incoming = await mkdtemp(`${target}.partial-`).catch((error) => {
    throw new CommandError(
      EXIT.failed,
      `${dirname(target)} cannot be written (${(error as NodeJS.ErrnoException).code})`,
    )
  })
  try {
    const manifest = await fill(incoming, place)
    await putInPlace(incoming, target)
    await print(terminal.stderr, told(target, manifest))
    return EXIT.completed
  } catch (error) {
    await rm(incoming, { recursive: true, force: true })
    throw failure(error)
  }
}

async function refuse(target: string, force: boolean): Promise<void> {
  if (!existsSync(target)) return
  if (!force) throw new CommandError(EXIT.failed, `${target} exists; --force replaces it`)
  if (!(await isBackup(target))) throw new CommandError(EXIT.failed, `${target} is no backup, and is not replaced`)
}

async function fill(folder: string, place: Place): Promise<Manifest> {
  // Files that the copy of the database names are there before it, or come while it is made: the second round finds those.
  await copyObjects(place.objects, folder)
  const migrations = copyDatabase(place.database, join(folder, DATABASE))
  await copyObjects(place.objects, folder)
  await mustBeSound(join(folder, DATABASE))
  const files: BackupFile[] = []
  for (const path of [DATABASE, ...(await filesBelow(join(folder, OBJECTS))).map((path) => `${OBJECTS}/${path}`)])
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
  return manifest
}

async function copyObjects(from: string, folder: string): Promise<void> {
  for (const path of await filesBelow(from)) {
    const to = join(folder, OBJECTS, path)
    // One that is there already has the same content: its name says so.
    if (!existsSync(to)) await copyWhole(join(from, path), to)
  }
}

async function mustBeSound(database: string): Promise<void> {
  const [finding] = (await checkDatabase(database)).filter(({ check }) => check === 'the file')
  if (finding)
    throw new CommandError(EXIT.failed, `the copy is not sound (${finding.text}); see what "svc check" finds`)
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

function told(target: string, { files }: Manifest): string {
  const [database, ...objects] = files as [BackupFile, ...BackupFile[]]
  const bytes = objects.reduce((sum, { size }) => sum + size, 0)
  const assets = `${counted(objects.length, 'file')} of assets (${grouped(bytes)} bytes)`
  return `svc: ${target} holds the database (${grouped(database.size)} bytes) and ${assets}
svc: the master key is not included, so that who reads the backup reads no secrets: keep a copy of it in another place
`
}
