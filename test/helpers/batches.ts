// Puts test files into batches. The files of a batch share a process, which reads the modules of the server once for all of them. Prints the files that
// `node --test` runs. A test file that measures or watches its whole process says so in its first lines, with the reason: `// own-process: …`.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const FOLDER = resolve('.cache/test-batches')
/** In one batch. */
const MOST_FILES = 24

function needsOwnProcess(file: string): boolean {
  return /^\/\/ own-process: /m.test(readFileSync(file, 'utf8').slice(0, 1_000))
}

/** The folder of a room, such as `test/jobs`; of a file directly in `test`, that folder. */
function roomOf(file: string): string {
  return dirname(file).split('/').slice(0, 2).join('/')
}

/** Only files of one room share a batch, so that its name tells what failed. */
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

const given = process.argv.slice(2)
rmSync(FOLDER, { recursive: true, force: true })
mkdirSync(FOLDER, { recursive: true })
const shared = batchesOf(given.filter((file) => !needsOwnProcess(file))).map(write)
console.log([...shared, ...given.filter(needsOwnProcess)].join('\n'))
