// `svc restore DIR`: brings a backup back into the data folder of a server that is stopped. Nothing that was there is deleted.
import { existsSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { basename, dirname, join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { checkDatabase } from '../db/check.ts'
import { restoringFolder } from '../db/data-folder.ts'
import { knownMigrations } from '../db/migrate.ts'
import { migrationsIn, syncFile } from '../db/snapshot.ts'
import { keyFile } from '../vault/master-key.ts'
import { readArguments } from './arguments.ts'
import {
  copyWhole,
  DATABASE,
  differencesFrom,
  filesBelow,
  type Manifest,
  OBJECTS,
  readManifest,
} from './backup-folder.ts'
import { ownPlace, type Place, placeOf } from './place.ts'
import { CommandError, EXIT, print, type Terminal } from './terminal.ts'
import { counted } from './text.ts'

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
    const message = `${place.folder} holds data already (${present.map((path) => basename(path)).join(', ')})`
    throw new CommandError(EXIT.failed, `${message}; --force moves it aside`)
  }
  const stage = restoringFolder(place.folder)
  await gather(source, manifest, stage)
  const aside = await moveAside(present)
  await putInPlace(stage, place)
  await print(terminal.stderr, told(source, manifest, aside, needsKey(place, config)))
  return EXIT.completed
}

/** Everything that is wrong with a backup, before anything is touched. @throws CommandError */
async function mustFit(manifest: Manifest, source: string): Promise<void> {
  const problems: { path: string; message: string }[] = []
  for await (const message of differencesFrom(manifest, source)) problems.push({ path: source, message })
  if (problems.length > 0) throw new CommandError(EXIT.failed, `${source} is not whole`, problems)
  const known = knownMigrations()
  const newer = migrationsIn(join(source, DATABASE)).find((name) => !known.includes(name))
  if (newer !== undefined)
    throw new CommandError(EXIT.failed, `${source} was made by a newer version of the service (migration ${newer})`)
}

/** What a restore would replace. */
async function presentFiles({ database, objects }: Place): Promise<string[]> {
  const files = [database, `${database}-wal`, `${database}-shm`].filter((path) => existsSync(path))
  return (await filesBelow(objects)).length > 0 ? [...files, objects] : files
}

/** Copies the backup into `stage` and looks at the copies. Nothing is left of them where that fails. */
async function gather(source: string, manifest: Manifest, stage: string): Promise<void> {
  try {
    await rm(stage, { recursive: true, force: true })
    await mkdir(join(stage, OBJECTS), { recursive: true, mode: 0o700 })
    for (const { path } of manifest.files) await copyWhole(join(source, path), join(stage, path))
    for await (const message of differencesFrom(manifest, stage)) throw new CommandError(EXIT.failed, message)
    const [finding] = (await checkDatabase(join(stage, DATABASE))).filter(({ check }) => check === 'the file')
    if (finding) throw new CommandError(EXIT.failed, `the database of ${source} is damaged: ${finding.text}`)
  } catch (error) {
    await rm(stage, { recursive: true, force: true })
    const { code, message } = error as NodeJS.ErrnoException
    if (error instanceof CommandError || code === undefined) throw error
    throw new CommandError(EXIT.failed, `the backup could not be copied: ${message}`)
  }
}

/** Gives every file another name, and says which ending it got. */
async function moveAside(paths: readonly string[]): Promise<string | null> {
  if (paths.length === 0) return null
  const stamp = new Date().toISOString().replace(/[-:]|\.\d+/g, '')
  const ending = `.before-${stamp}`
  for (const path of paths) {
    // The write-ahead log keeps the name that SQLite looks for beside the database.
    const [, base, log = ''] = /^(.*?)(-wal|-shm)?$/s.exec(path)!
    await rename(path, `${base}${ending}${log}`)
  }
  return ending
}

async function putInPlace(stage: string, { folder, database, objects }: Place): Promise<void> {
  await mkdir(dirname(objects), { recursive: true, mode: 0o700 })
  await rm(objects, { recursive: true, force: true })
  await rename(join(stage, OBJECTS), objects)
  const beside = `${database}.restoring`
  // It may belong on another disk.
  await copyWhole(join(stage, DATABASE), beside)
  await rename(beside, database)
  for (const changed of new Set([dirname(objects), dirname(database), folder])) syncFile(changed)
  // From here on servers may start.
  await rm(stage, { recursive: true })
}

function needsKey({ folder }: Place, { secrets_master_key }: Config): boolean {
  return secrets_master_key === null && !existsSync(keyFile(folder))
}

function told(source: string, { files, created_at }: Manifest, aside: string | null, key: boolean): string {
  const lines = [
    `svc: ${source} of ${created_at} is back: the database and ${counted(files.length - 1, 'file')} of assets`,
  ]
  if (aside !== null) lines.push(`svc: what was there before has names that end with ${aside}`)
  if (key)
    lines.push('svc: before a server starts, put back the master.key that belongs to it, or set SECRETS_MASTER_KEY')
  return `${lines.join('\n')}\n`
}
