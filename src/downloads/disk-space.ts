// Checks before a download whether the disks have room for the missing bytes, so that it fails early.
import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DownloadError } from './error.ts'
import { fileSizeOf } from './file-fetcher.ts'
import { type FolderStats, resolveFileLocation } from './file-location.ts'
import type { HubFile } from './hub-file.ts'

export const DISK_FULL_MESSAGE =
  'There is not enough space on the disk of the models folder. Stored bytes are kept. Free some space and start the download again.'

/** The folder has to exist. @throws DownloadError; the error of the system */
export async function requireDiskSpace(folder: string, repo_id: string, files: readonly HubFile[]): Promise<void> {
  const seen: FolderStats = new Map()
  const missing = new Map<string, number>()
  for (const file of files) {
    const { path, unfinished, partial } = await resolveFileLocation(folder, repo_id, file, seen)
    const disk = dirname(unfinished)
    const stored = (await fileSizeOf(path)) === file.size ? file.size : Math.max(0, await fileSizeOf(partial))
    missing.set(disk, (missing.get(disk) ?? 0) + Math.max(0, file.size - stored))
  }
  for (const [disk, bytes] of await sumByDisk(missing)) {
    const { bavail, bsize } = await statfs(disk)
    if (bytes > bavail * bsize) throw new DownloadError(DISK_FULL_MESSAGE)
  }
}

/** Several folders may be on one disk. */
async function sumByDisk(missing: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
  const disks = new Map<number, [string, number]>()
  for (const [folder, bytes] of missing) {
    const { dev } = await stat(folder)
    disks.set(dev, [folder, (disks.get(dev)?.[1] ?? 0) + bytes])
  }
  return new Map(disks.values())
}
