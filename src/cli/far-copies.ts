// Copies files of a bucket, or on their way there, which are found only by the rows that refer to them.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { listReferencedBlobs } from '../db/files/referenced-files.ts'
import { copyFileDurably } from './backup/manifest.ts'
import type { BucketFiles } from './stored-data/bucket-files.ts'

/**
 * Copies to a folder the files that rows of a database refer to and the folder lacks. Files that are not available are skipped. @throws CommandError
 */
export async function copyMissingFromBucket(
  far: BucketFiles,
  from: string,
  database: string,
  folder: string,
): Promise<void> {
  for (const content of listReferencedBlobs(database)) {
    const path = content.content_key.split('/')
    const to = join(folder, ...path)
    // The file may have come to the data folder meanwhile, and not yet be in the bucket.
    if (!existsSync(to) && !(await copyFileDurably(join(from, ...path), to))) await far.fetch(content, to)
  }
}
