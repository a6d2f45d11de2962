// A new name is on the disk when its folder is.
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Windows does not open folders, and keeps names without that. */
export function fsyncFolder(path: string): void {
  let folder: number
  try {
    folder = openSync(path, 'r')
  } catch (error) {
    if (['EISDIR', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '')) return
    throw error
  }
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
