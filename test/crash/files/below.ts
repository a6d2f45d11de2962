// Lists the files in the folder of an ended server.
import { readdirSync } from 'node:fs'
import { join, relative, sep } from 'node:path'

/** Paths with slashes, relative to the folder. Empty where the folder is missing. */
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
