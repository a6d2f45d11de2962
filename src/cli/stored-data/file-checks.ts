// The files that `svc check` verifies besides the database: each kind of referenced files is an entry.
import { createHash } from 'node:crypto'
import { createReadStream, existsSync } from 'node:fs'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import {
  isBlobReferenced,
  isSpilledValueNeeded,
  listReferencedBlobs,
  listSpilledValueFiles,
  type ReferencedFile,
} from '../../db/files/referenced-files.ts'
import { BucketFiles } from './bucket-files.ts'
import type { DataLocation } from './data-location.ts'

export interface FileCheck {
  readonly name: string
  readonly tree: 'objects' | 'journal'
  /** A sentence about each file that differs from its row. */
  findProblems(place: DataLocation): AsyncIterable<string>
}

export const FILE_CHECKS: readonly FileCheck[] = [
  { name: 'the files of assets', tree: 'objects', findProblems: checkAssetFiles },
  { name: 'the files of journals', tree: 'journal', findProblems: checkJournalFiles },
]

async function* checkAssetFiles(place: DataLocation): AsyncIterable<string> {
  const { database, objects } = place
  using far = BucketFiles.openIfConfigured(place)
  for (const content of listReferencedBlobs(database)) {
    const here = join(objects, ...content.content_key.split('/'))
    let wrong = await findFileProblem(here, content).catch(toMissingProblem)
    // A file is in the bucket before it leaves the data folder.
    if (wrong !== null && far !== null && !existsSync(here)) wrong = await far.findProblem(content)
    // A running server may have deleted the asset since.
    if (wrong !== null && isBlobReferenced(database, content.content_key)) yield `${content.content_key} ${wrong}`
  }
}

async function* checkJournalFiles({ database, journal }: DataLocation): AsyncIterable<string> {
  for (const value of listSpilledValueFiles(database)) {
    const wrong = await findFileProblem(join(journal, ...value.content_key.split('/')), value)
    // On a running server, its job may have ended since.
    if (wrong !== null && isSpilledValueNeeded(database, value.content_key)) yield `${value.content_key} ${wrong}`
  }
}

async function findFileProblem(path: string, { size, sha256 }: ReferencedFile): Promise<string | null> {
  const found = await stat(path).catch(() => null)
  if (!found?.isFile()) return 'is missing'
  if (found.size !== size) return `has ${found.size} bytes instead of ${size}`
  if (sha256 !== null && (await computeFileDigest(path)) !== sha256) return 'has different content than was written'
  return null
}

function toMissingProblem(error: NodeJS.ErrnoException): string {
  if (error.code === 'ENOENT') return 'is missing'
  throw error
}

/** SHA-256 of a file, in hexadecimal. */
export async function computeFileDigest(path: string): Promise<string> {
  const hash = createHash('sha256')
  for await (const chunk of createReadStream(path, { highWaterMark: 1024 * 1024 })) hash.update(chunk as Uint8Array)
  return hash.digest('hex')
}
