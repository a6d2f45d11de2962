// Groups test files into batches. The files of a batch share a process, which loads the server's modules once. A test file that measures or watches
// its whole process says so in its first lines, with the reason: `// own-process: …`.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const FOLDER = resolve('.cache/test-batches')
/** The most files of one batch. */
const MOST_FILES = 24

function needsOwnProcess(file: string): boolean {
  return /^\/\/ own-process: /m.test(readFileSync(file, 'utf8').slice(0, 1_000))
}

/** Returns the top folder of a file, such as `test/jobs`. For a file directly in `test`, returns that folder. */
function roomOf(file: string): string {
  return dirname(file).split('/').slice(0, 2).join('/')
}

/** Only files of one top folder share a batch, so that the batch's name shows what failed. */
function batchesOf(files: readonly string[]): string[][] {
  const rooms = Map.groupBy(files, roomOf)
  return [...rooms.values()].flatMap((all) =>
    Array.from({ length: Math.ceil(all.length / MOST_FILES) }, (_, at) =>
      all.slice(at * MOST_FILES, (at + 1) * MOST_FILES),
    ),
  )
}

function write(files: readonly string[], at: number): string {
  const path = join(FOLDER, `${at}-${roomOf(files[0]!).replaceAll('/', '-')}.test.mjs`)
  const lines = files.map((file) => `await import(${JSON.stringify(pathToFileURL(resolve(file)).href)})\n`)
  writeFileSync(path, lines.join(''))
  return path
}

/** Writes the batches of these test files. Returns the paths for `node --test`. */
export function writeBatches(files: readonly string[]): string[] {
  rmSync(FOLDER, { recursive: true, force: true })
  mkdirSync(FOLDER, { recursive: true })
  const shared = batchesOf(files.filter((file) => !needsOwnProcess(file))).map(write)
  return [...shared, ...files.filter(needsOwnProcess)]
}
