// Damages a data folder that no server uses: a random kind of damage at a random position of a file, or a removed file.
import {
  closeSync,
  existsSync,
  fstatSync,
  ftruncateSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join, relative } from 'node:path'
import { journalFolderPath } from '../../src/db/files/data-folder.ts'
import { commitMarkPath } from '../../src/db/loss-detection/commit-mark-file.ts'
import { fileSize } from '../../src/db/loss-detection/missing-database.ts'

const PAGE = 4096

type Random = () => number

const KINDS = {
  bit: ({ bytes, put, below, at }) => put(Buffer.from([bytes(at, 1)[0]! ^ (1 << below(8))]), at),
  byte: ({ put, below, at }) => put(Buffer.from([below(256)]), at),
  'zeroed page': ({ put, page }) => put(Buffer.alloc(PAGE), page),
  'garbled page': ({ put, below, page }) => put(Buffer.from(Array.from({ length: PAGE }, () => below(256))), page),
  'swapped pages': ({ bytes, put, page, other }) => {
    const [one, two] = [bytes(page, PAGE), bytes(other, PAGE)]
    put(one, other)
    put(two, page)
  },
  cut: ({ file, at }) => ftruncateSync(file, at),
  emptied: ({ file }) => ftruncateSync(file),
} satisfies Readonly<Record<string, (place: Place) => void>>

type Kind = keyof typeof KINDS

/** Disks damage bits more often than anything else. */
const OF_DATABASE: readonly Kind[] = [
  'bit',
  'bit',
  'bit',
  'byte',
  'zeroed page',
  'garbled page',
  'swapped pages',
  'cut',
]
const OF_LOG: readonly Kind[] = ['bit', 'bit', 'bit', 'byte', 'zeroed page', 'cut', 'emptied']
const OF_INDEX: readonly Kind[] = ['garbled page']
const OF_MARK: readonly Kind[] = ['bit', 'emptied']
const OF_VALUE: readonly Kind[] = ['bit', 'cut']

interface Place {
  readonly file: number
  readonly below: (count: number) => number
  readonly at: number
  /** Returns the start of a page, and sometimes of a second one. */
  readonly page: number
  readonly other: number
  readonly bytes: (from: number, count: number) => Buffer
  readonly put: (bytes: Buffer, to: number) => void
}

/** Makes one change and describes it. The log, its index and large values are damaged only where they exist. */
export function damageFolder(folder: string, random: Random): string {
  const choices = [...choicesIn(folder)]
  return choices[Math.floor(random() * choices.length)]!(random)
}

function* choicesIn(folder: string): Iterable<(random: Random) => string> {
  const database = join(folder, 'svc.db')
  const [log, index] = [`${database}-wal`, `${database}-shm`]
  yield* changes(folder, database, OF_DATABASE)
  yield* changes(folder, log, OF_LOG)
  yield* changes(folder, index, OF_INDEX)
  yield* changes(folder, commitMarkPath(database), OF_MARK)
  yield () => deleted(folder, database)
  yield () => deleted(folder, database, log, index)
  for (const path of [log, index]) if (existsSync(path)) yield () => deleted(folder, path)
  const [value] = valuesIn(folder)
  if (value === undefined) return
  yield* changes(folder, value, OF_VALUE)
  yield () => deleted(folder, value)
}

function* changes(folder: string, path: string, kinds: readonly Kind[]): Iterable<(random: Random) => string> {
  if ((fileSize(path) ?? 0) > 0) for (const kind of kinds) yield (random) => change(folder, path, kind, random)
}

function valuesIn(folder: string): string[] {
  const journal = journalFolderPath(folder)
  if (!existsSync(journal)) return []
  const entries = readdirSync(journal, { recursive: true, withFileTypes: true })
  return entries.filter((one) => one.isFile()).map((one) => join(one.parentPath, one.name))
}

function deleted(folder: string, ...paths: readonly string[]): string {
  for (const path of paths) rmSync(path, { force: true })
  return `${paths.map((path) => relative(folder, path)).join(', ')} deleted`
}

function change(folder: string, path: string, kind: Kind, random: Random): string {
  const file = openSync(path, 'r+')
  try {
    const { size } = fstatSync(file)
    const below = (count: number) => Math.floor(random() * count)
    const pages = Math.max(1, Math.floor(size / PAGE))
    const place = { at: below(size), page: below(pages) * PAGE, other: below(pages) * PAGE }
    const bytes = (from: number, count: number) => {
      const found = Buffer.alloc(count)
      readSync(file, found, 0, count, from)
      return found
    }
    const put = (found: Buffer, to: number) => void writeSync(file, found, 0, found.length, to)
    KINDS[kind]({ file, below, bytes, put, ...place })
    return `${relative(folder, path)}: ${kind}, at ${place.at} of ${size}, page ${place.page / PAGE + 1}`
  } finally {
    closeSync(file)
  }
}
