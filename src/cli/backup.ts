// `svc backup DIR`: a copy of everything that a server has stored, as it was at one moment, also while it runs.
import { existsSync } from 'node:fs'
import { mkdtemp, rename, rm } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { checkDatabase, ROWS } from '../db/check.ts'
import { isEmpty } from '../db/emptied.ts'
import { lossOf, withAdvice } from '../db/loss.ts'
import { type CopiedDatabase, copyDatabase, syncFile } from '../db/snapshot.ts'
import { version } from '../version.ts'
import { readArguments } from './arguments.ts'
import {
  type BackupFile,
  copyMissing,
  DATABASE,
  fileOf,
  filesBelow,
  isBackup,
  JOURNAL,
  type Manifest,
  OBJECTS,
  syncFolders,
  TREES,
  writeManifest,
} from './backup-folder.ts'
import { FILE_CHECKS } from './check-files.ts'
import { failureOf } from './failure.ts'
import { copyLacking } from './far-copies.ts'
import { FarFiles } from './far-files.ts'
import { Holder } from './holder.ts'
import { liesIn } from './lies-in.ts'
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
    throw failureOf('the backup', error)
  }
}

async function refuse(target: string, { folder, database, objects, journal }: Place, force: boolean): Promise<void> {
  const shown = printable(target)
  for (const own of [folder, objects, journal])
    if (await liesIn(target, own))
      throw new CommandError(EXIT.failed, `${shown} lies in the data folder; choose a place outside of it`)
  if (isEmpty(database))
    throw new CommandError(EXIT.failed, `${printable(database)} is empty; see what "svc check" finds`)
  if (!existsSync(target)) return
  if (!force) throw new CommandError(EXIT.failed, `${shown} exists; --force replaces it`)
  if (!(await isBackup(target))) throw new CommandError(EXIT.failed, `${shown} is no backup, and is not replaced`)
}

interface Filled {
  readonly manifest: Manifest
  readonly lacks: readonly Lack[]
}

/** A file that the copied rows name and that is not as they say, a row that is not what was written, rows that may be missing, or commits that are not in the database. */
interface Lack {
  readonly path: typeof DATABASE | (typeof TREES)[number]
  readonly message: string
}

async function fill(folder: string, place: Place): Promise<Filled> {
  const [database, objects, journal] = [join(folder, DATABASE), join(folder, OBJECTS), join(folder, JOURNAL)]
  const loss = lossOf(place.database)
  let copied: CopiedDatabase
  {
    using holder = new Holder(place.folder)
    using far = FarFiles.of(place)
    // Files that the copy of the database names are there before it, or come while it is made: the second round finds those.
    await copyFiles(place, folder, holder)
    if (far) await copyLacking(far, place.objects, place.database, objects)
    copied = copyDatabase(place.database, database)
    await copyFiles(place, folder, holder)
    if (far) await copyLacking(far, place.objects, database, objects)
  }
  const lacks = await lacking({ folder, database, objects, journal })
  const { migrations, damages } = copied
  for (const { table, text } of damages)
    lacks.unshift({ path: DATABASE, message: `rows of ${table} may be missing, its structure is damaged: ${text}` })
  if (loss !== null) lacks.unshift({ path: DATABASE, message: withAdvice(loss) })
  const files: BackupFile[] = [await fileOf(folder, DATABASE)]
  for (const tree of TREES)
    for (const path of await filesBelow(join(folder, tree))) files.push(await fileOf(folder, `${tree}/${path}`))
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

async function copyFiles(place: Place, folder: string, holder: Holder): Promise<void> {
  for (const tree of TREES)
    for (const path of await filesBelow(place[tree])) {
      holder.touch()
      await copyMissing(join(place[tree], path), join(folder, tree, path))
    }
}

/** Holds the copied files against the copied rows. @throws CommandError where the rows cannot be read */
async function lacking(copy: Place): Promise<Lack[]> {
  const findings = await checkDatabase(copy.database)
  const damage = findings.find(({ check }) => check === 'the file')
  if (damage) throw new CommandError(EXIT.failed, `the copy is not sound (${damage.text}); see what "svc check" finds`)
  const lacks: Lack[] = findings
    .filter(({ check }) => check === ROWS)
    .map(({ text }) => ({ path: DATABASE, message: text }))
  // Of the rows of another version nobody knows here which files they name.
  if (findings.some(({ check }) => check === 'the version')) return lacks
  for (const { tree, look } of FILE_CHECKS) for await (const message of look(copy)) lacks.push({ path: tree, message })
  return lacks
}

/** Only who asks for it gets a backup that lacks something, and never in the place of another. @throws CommandError */
function mayLack(lacks: readonly Lack[], target: string, incomplete: boolean): void {
  if (lacks.length === 0 || (incomplete && !existsSync(target))) return
  const advice = incomplete
    ? 'a backup that is there already is not replaced by it'
    : '--incomplete makes it all the same'
  throw new CommandError(EXIT.failed, `the backup would not be whole; ${advice}`, lacks)
}

/** The old backup goes when the new one is whole and on the disk. */
async function putInPlace(incoming: string, target: string): Promise<void> {
  await syncFolders(incoming)
  const old = existsSync(target) ? `${incoming}-old` : null
  if (old !== null) await rename(target, old)
  try {
    await rename(incoming, target)
  } catch (error) {
    if (old !== null) await rename(old, target)
    throw error
  }
  syncFile(dirname(target))
  if (old !== null) await rm(old, { recursive: true })
}

function told(target: string, { files }: Manifest, lacks: readonly Lack[]): string {
  const [database, ...others] = files as [BackupFile, ...BackupFile[]]
  const held = (tree: string) => {
    const found = others.filter(({ path }) => path.startsWith(`${tree}/`))
    return [found.length, grouped(found.reduce((sum, { size }) => sum + size, 0))] as const
  }
  const [[objects, bytes], [values, journal]] = [held(OBJECTS), held(JOURNAL)]
  const remembered = values === 0 ? '' : `, and ${counted(values, 'file')} of journals (${journal} bytes)`
  const assets = `${counted(objects, 'file')} of assets (${bytes} bytes)${remembered}`
  const warnings = lacks.map(({ path, message }) => harmless(`svc: not whole: ${path}: ${message}\n`)).join('')
  return `${warnings}svc: ${printable(target)} holds the database (${grouped(database.size)} bytes) and ${assets}
svc: the master key is not included, so that who reads the backup reads no secrets: keep a copy of it in another place
`
}
