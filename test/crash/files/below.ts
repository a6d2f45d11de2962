// What lies in a folder of a server that is gone.
import { readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** Paths with slashes, from the folder on; none where there is no folder. */
export function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => !entry.isDirectory())
      .map(({ parentPath, name }) => relative(folder, join(parentPath, name)).split(sep).join('/'))
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw error
  }
}
