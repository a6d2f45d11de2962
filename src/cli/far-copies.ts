// Copies of the files that only rows lead to, since they lie in a bucket or are on their way there.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { storedContents } from '../db/contents.ts'
import { copyWhole } from './backup-folder.ts'
import type { FarFiles } from './far-files.ts'

/** Copies to a folder what rows of a database name and it has not. What is not to be had is left out. @throws CommandError */
export async function copyLacking(far: FarFiles, from: string, database: string, folder: string): Promise<void> {
  for (const content of storedContents(database)) {
    const path = content.content_key.split('/')
    const to = join(folder, ...path)
    // It may have come to the data folder meanwhile, and not yet be in the bucket.
    if (!existsSync(to) && !(await copyWhole(join(from, ...path), to))) await far.fetch(content, to)
  }
}
