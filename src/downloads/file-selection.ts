// Selects the files of a download from the list of the hub: each once, and none with a name that cannot be used here.
import { setImmediate } from 'node:timers/promises'
import { DownloadError } from './error.ts'
import { type GlobPatterns, matchFiles } from './glob-patterns.ts'
import { CONFLICT_ADVICE, type HubFile, type ListedFile, quotePath } from './hub-file.ts'
import { foldPath } from './safe-path.ts'

/** Number of files that are validated before other work gets its turn. A path may have hundreds of names. */
const FILES_PER_TURN = 64

export interface DownloadRequest extends GlobPatterns {
  readonly repo_id: string
  /** The path of one file; null for all files that match the patterns. */
  readonly path: string | null
  readonly model_type: string
}

/** @throws DownloadError; the signal's reason */
export async function selectFiles(
  listed: readonly ListedFile[],
  wanted: DownloadRequest,
  signal: AbortSignal,
): Promise<readonly HubFile[]> {
  const { repo_id, path } = wanted
  const meant = path === null ? await matchFiles(listed, wanted, signal) : listed.filter((one) => one.path === path)
  if (meant.length === 0)
    throw new DownloadError(
      path === null ? `The patterns match no file of "${repo_id}".` : `"${repo_id}" has no file "${path}".`,
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
