// The files that a download is to bring: those of the list that are meant, each once, and none whose name cannot be used here.
import { setImmediate } from 'node:timers/promises'
import { DownloadError } from './error.ts'
import { type GlobPatterns, matchFiles } from './glob-patterns.ts'
import { CONFLICT_ADVICE, type HubFile, type ListedFile, quotePath } from './hub-file.ts'
import { foldPath } from './safe-path.ts'

/** Files that are judged before others get their turn: paths may have hundreds of names. */
const FILES_PER_TURN = 64

export interface DownloadRequest extends GlobPatterns {
  readonly repo_id: string
  /** One file; null: all that the patterns let through. */
  readonly path: string | null
  readonly model_type: string
}

/** @throws DownloadFault; the signal's reason */
export async function selectFiles(
  listed: readonly ListedFile[],
  wanted: DownloadRequest,
  signal: AbortSignal,
): Promise<readonly HubFile[]> {
  const { repo_id, path } = wanted
  const meant = path === null ? await matchFiles(listed, wanted, signal) : listed.filter((one) => one.path === path)
  if (meant.length === 0)
    throw new DownloadError(
      path === null ? `No file of "${repo_id}" is meant by the patterns.` : `"${repo_id}" has no file "${path}".`,
    )
  const files = new Map<string, HubFile>()
  for (const [at, one] of meant.entries()) {
    if (at % FILES_PER_TURN === FILES_PER_TURN - 1) {
      await setImmediate()
      signal.throwIfAborted()
    }
    const file = one.validate()
    const twin = files.get(foldPath(file.path))
    if (twin && (twin.path !== file.path || twin.size !== file.size || twin.digest.hex !== file.digest.hex))
      throw new DownloadError(
        `The hub lists both ${quotePath(twin.path)} and ${quotePath(file.path)}. ${CONFLICT_ADVICE}`,
      )
    files.set(foldPath(file.path), file)
  }
  return [...files.values()]
}
