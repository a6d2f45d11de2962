// `svc restore DIR`: brings a backup back into the data folder of a server that is stopped. Nothing that was there is deleted.
import { existsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { checkDatabase } from '../db/check.ts'
import { gatheringFolder, restoringFolder } from '../db/data-folder.ts'
import { acceptancePath } from '../db/loss.ts'
import { markPath } from '../db/mark-file.ts'
import { knownMigrations } from '../db/migrate.ts'
import { keepPrivate } from '../db/private-files.ts'
import { keyFingerprintIn, migrationsIn, syncFile } from '../db/snapshot.ts'
import { readArguments } from './arguments.ts'
import {
  copyWhole,
  DATABASE,
  differencesFrom,
  filesBelow,
  type Manifest,
  OBJECTS,
  readManifest,
  syncFolders,
  TREES,
} from './backup-folder.ts'
import { freeEnding, keyAdvice } from './former.ts'
import { gatherFiles } from './gathering.ts'
import { ownPlace, type Place, placeOf } from './place.ts'
import { CommandError, EXIT, print, type Terminal } from './terminal.ts'
import { counted, printable } from './text.ts'

const OPTIONS = { force: { type: 'boolean', default: false } } as const
const OWNER = 'svc restore'

/** Runs the command and gives its exit code. @throws CommandError, StartError */
export async function restore(args: readonly string[], terminal: Terminal, config: Config): Promise<number> {
  const { values, positionals } = readArguments(args, OPTIONS, { least: 1, most: 1, what: 'DIR' })
  const source = resolve(positionals[0]!)
  const place = placeOf(config)
  const manifest = await readManifest(source)
  await mustFit(manifest, source)
  using _owned = ownPlace(place, OWNER)
  const present = await presentFiles(place)
  if (present.length > 0 && !values.force) {
    const message = `${printable(place.folder)} holds data already (${present.map((path) => basename(path)).join(', ')})`
    throw new CommandError(EXIT.failed, `${message}; --force moves it aside`)
  }
  const incoming = gatheringFolder(place.folder)
  await gather(source, manifest, incoming, place)
  const stage = restoringFolder(place.folder)
  await closeTo(stage, incoming)
  const aside = await moveAside([...present, ...marksOf(place)])
  await putInPlace(stage, place)
  const key = keyAdvice(place.folder, config.secrets_master_key, keyOf(place.database))
  await print(terminal.stderr, told(source, manifest, aside, key))
  return EXIT.completed
}

/** Everything that is wrong with a backup, before anything is touched. @throws CommandError */
async function mustFit(manifest: Manifest, source: string): Promise<void> {
  const problems: { path: string; message: string }[] = []
  for await (const message of differencesFrom(manifest, source)) problems.push({ path: source, message })
  if (problems.length > 0) throw new CommandError(EXIT.failed, `${printable(source)} is not whole`, problems)
  const known = knownMigrations()
  const newer = migrationsIn(join(source, DATABASE)).find((name) => !known.includes(name))
  if (newer !== undefined)
    throw new CommandError(
      EXIT.failed,
      `${printable(source)} was made by a newer version of the service (migration ${newer})`,
    )
}

/** What a restore would replace. */
async function presentFiles(place: Place): Promise<string[]> {
  const { database } = place
  const files = [database, `${database}-wal`, `${database}-shm`].filter((path) => existsSync(path))
  for (const tree of TREES) if ((await filesBelow(place[tree])).length > 0) files.push(place[tree])
  return files
}

/** What says which commits the database had, whether it is there or not: a database that is brought back begins another count. */
function marksOf({ database }: Place): string[] {
  return [markPath(database), acceptancePath(database)].filter((path) => existsSync(path))
}

/** Copies the backup into `stage` and looks at the copies. Nothing is left of them where that fails. */
async function gather(source: string, manifest: Manifest, stage: string, place: Place): Promise<void> {
  try {
    await rm(stage, { recursive: true, force: true })
    for (const tree of TREES) await mkdir(join(stage, tree), { recursive: true, mode: 0o700 })
    await gatherFiles(source, manifest, stage, place)
    for await (const message of differencesFrom(manifest, stage)) throw new CommandError(EXIT.failed, message)
    const [finding] = (await checkDatabase(join(stage, DATABASE))).filter(({ check }) => check === 'the file')
    if (finding) throw new CommandError(EXIT.failed, `the database of ${printable(source)} is damaged: ${finding.text}`)
  } catch (error) {
    await rm(stage, { recursive: true, force: true })
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof CommandError || code === undefined) throw error
    throw new CommandError(EXIT.failed, `the backup could not be copied: ${message}`)
  }
}

/**
 * Moves what was gathered to `stage`, whose name keeps servers away. It may be there from an interrupted restore: then it stays there,
 * since it may be all that says so.
 */
async function closeTo(stage: string, incoming: string): Promise<void> {
  await syncFolders(incoming)
  await mkdir(stage, { recursive: true, mode: 0o700 })
  syncFile(dirname(stage))
  for (const name of await readdir(stage)) await rm(join(stage, name), { recursive: true, force: true })
  for (const name of [DATABASE, ...TREES]) await rename(join(incoming, name), join(stage, name))
  await rm(incoming, { recursive: true, force: true })
  syncFile(stage)
}

/** Gives every file another name, and says which ending it got. */
async function moveAside(paths: readonly string[]): Promise<string | null> {
  if (paths.length === 0) return null
  // The write-ahead log keeps the name that SQLite looks for beside the database.
  const renamed = (path: string, ending: string) => path.replace(/(?:-wal|-shm)?$/, (log) => ending + log)
  const ending = freeEnding((ending) => paths.some((path) => existsSync(renamed(path, ending))))
  for (const path of paths) {
    keepPrivate(path)
    await rename(path, renamed(path, ending))
  }
  return ending
}

async function putInPlace(stage: string, place: Place): Promise<void> {
  const { folder, database } = place
  for (const tree of TREES) {
    await mkdir(dirname(place[tree]), { recursive: true, mode: 0o700 })
    await rm(place[tree], { recursive: true, force: true })
    await rename(join(stage, tree), place[tree])
  }
  await moveDatabase(join(stage, DATABASE), database)
  for (const changed of new Set([...TREES.map((tree) => dirname(place[tree])), dirname(database), folder]))
    syncFile(changed)
  // From here on servers may start.
  await rm(stage, { recursive: true })
}

/** Without a copy, unless it belongs on another disk. */
async function moveDatabase(from: string, to: string): Promise<void> {
  try {
    await rename(from, to)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EXDEV') throw error
    const beside = `${to}.restoring`
    await copyWhole(from, beside)
    await rename(beside, to)
  }
}

/** The fingerprint of the key that the restored database needs; null where any will do, or an older version wrote it. */
function keyOf(database: string): string | null {
  const applied = migrationsIn(database)
  return knownMigrations().every((name) => applied.includes(name)) ? keyFingerprintIn(database) : null
}

function told(source: string, { files, created_at }: Manifest, aside: string | null, key: string | null): string {
  const lines = [
    `svc: ${printable(source)} of ${printable(String(created_at))} is back: the database and ${counted(files.filter(({ path }) => path.startsWith(`${OBJECTS}/`)).length, 'file')} of assets`,
  ]
  if (aside !== null) lines.push(`svc: what was there before has names that end with ${aside}`)
  if (key !== null) lines.push(`svc: ${key}`)
  return `${lines.join('\n')}\n`
}
