// A new file name is on the disk only once its folder is.
import { closeSync, fsyncSync, openSync } from 'node:fs'

/** Windows does not open folders, and keeps names without this. */
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
