// Whether the disks have room for what is still to be fetched: sooner than when they are full.
import { stat, statfs } from 'node:fs/promises'
import { dirname } from 'node:path'
import { DownloadError } from './error.ts'
import { fileSizeOf } from './file-fetcher.ts'
import { type FolderStats, resolveFileLocation } from './file-location.ts'
import type { HubFile } from './hub-file.ts'

export const DISK_FULL_MESSAGE =
  'There is not enough room on the disk of the models folder. What is stored is kept: make room, and start again.'

/** The folder is there. @throws DownloadFault; what the system throws */
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

/** Several folders may be on one. */
async function sumByDisk(missing: ReadonlyMap<string, number>): Promise<ReadonlyMap<string, number>> {
  const disks = new Map<number, [string, number]>()
  for (const [folder, bytes] of missing) {
    const { dev } = await stat(folder)
    disks.set(dev, [folder, (disks.get(dev)?.[1] ?? 0) + bytes])
  }
  return new Map(disks.values())
}
