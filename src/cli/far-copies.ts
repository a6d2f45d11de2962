// Copies of the files that only rows lead to, since they lie in a bucket or are on their way there.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { listReferencedBlobs } from '../db/files/referenced-files.ts'
import { copyFileDurably } from './backup/manifest.ts'
import type { BucketFiles } from './stored-data/bucket-files.ts'

/** Copies to a folder what rows of a database name and it has not. What is not to be had is left out. @throws CommandError */
export async function copyMissingFromBucket(
  far: BucketFiles,
  from: string,
  database: string,
  folder: string,
): Promise<void> {
  for (const content of listReferencedBlobs(database)) {
    const path = content.content_key.split('/')
    const to = join(folder, ...path)
    // It may have come to the data folder meanwhile, and not yet be in the bucket.
    if (!existsSync(to) && !(await copyFileDurably(join(from, ...path), to))) await far.fetch(content, to)
  }
}
