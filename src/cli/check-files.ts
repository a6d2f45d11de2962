// What `svc check` looks at besides the database: files that rows name. A further kind of files is one entry more.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type StoredContent, spilledValues, stillNamed, stillRemembered, storedContents } from '../db/contents.ts'
import { FarFiles } from './far-files.ts'
import type { Place } from './place.ts'

export interface FileCheck {
  readonly name: string
  readonly tree: 'objects' | 'journal'
  /** A sentence about each file that is not as its rows say. */
  look(place: Place): AsyncIterable<string>
}

export const FILE_CHECKS: readonly FileCheck[] = [
  { name: 'the files of assets', tree: 'objects', look: assets },
  { name: 'the files of journals', tree: 'journal', look: journals },
]

async function* assets(place: Place): AsyncIterable<string> {
  const { database, objects } = place
  using far = FarFiles.of(place)
  for (const content of storedContents(database)) {
    const here = join(objects, ...content.content_key.split('/'))
    let wrong = await wrongWith(here, content).catch(missing)
    // What goes up is there before it goes here.
    if (wrong !== null && far !== null && !existsSync(here)) wrong = await far.wrongWith(content)
    // On a server that runs, an asset may have been deleted since.
    if (wrong !== null && stillNamed(database, content.content_key)) yield `${content.content_key} ${wrong}`
  }
}

async function* journals({ database, journal }: Place): AsyncIterable<string> {
  for (const value of spilledValues(database)) {
    const wrong = await wrongWith(join(journal, ...value.content_key.split('/')), value)
    // On a server that runs, its job may have ended since.
    if (wrong !== null && stillRemembered(database, value.content_key)) yield `${value.content_key} ${wrong}`
  }
}

async function wrongWith(path: string, { size, sha256 }: StoredContent): Promise<string | null> {
  const found = await stat(path).catch(() => null)
  if (!found?.isFile()) return 'is missing'
  if (found.size !== size) return `has ${found.size} bytes, and should have ${size}`
  if (sha256 !== null && (await digestOfFile(path)) !== sha256) return 'has another content than it was written with'
  return null
}

function missing(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return 'is missing'
  throw error
}

/** SHA-256 of a file, in hexadecimal. */
export async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}
