// What `svc check` looks at besides the database: files that rows name. A further kind of files is one entry more.
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { type StoredContent, stillNamed, storedContents } from '../db/contents.ts'
import type { Place } from './place.ts'

export interface FileCheck {
  readonly name: string
  /** A sentence about each file that is not as its rows say. */
  look(place: Place): AsyncIterable<string>
}

export const FILE_CHECKS: readonly FileCheck[] = [{ name: 'the files of assets', look: assets }]

async function* assets({ database, objects }: Place): AsyncIterable<string> {
  for (const content of storedContents(database)) {
    const wrong = await wrongWith(join(objects, ...content.content_key.split('/')), content)
    // On a server that runs, an asset may have been deleted since.
    if (wrong !== null && stillNamed(database, content.content_key)) yield `${content.content_key} ${wrong}`
  }
}

async function wrongWith(path: string, { size, sha256 }: StoredContent): Promise<string | null> {
  const found = await stat(path).catch(() => null)
  if (!found?.isFile()) return 'is missing'
  if (found.size !== size) return `has ${found.size} bytes, and should have ${size}`
  if (sha256 !== null && (await digestOfFile(path)) !== sha256) return 'has another content than it was written with'
  return null
}

/** SHA-256 of a file, in hexadecimal. */
export async function digestOfFile(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}
