// The files that a download is to bring: those of the list that are meant, each once, and none whose name cannot be used here.
import { setImmediate } from 'node:timers/promises'
import { DownloadFault } from './fault.ts'
import { CURE, type HubFile, type ListedFile, shown } from './hub-file.ts'
import { meantOf, type Patterns } from './patterns.ts'
import { folded } from './safe-path.ts'

/** Files that are judged before others get their turn: paths may have hundreds of names. */
const IN_A_TURN = 64

export interface Wanted extends Patterns {
  readonly repo_id: string
  /** One file; null: all that the patterns let through. */
  readonly path: string | null
  readonly model_type: string
}

/** @throws DownloadFault; the signal's reason */
export async function chosen(
  listed: readonly ListedFile[],
  wanted: Wanted,
  signal: AbortSignal,
): Promise<readonly HubFile[]> {
  const { repo_id, path } = wanted
  const meant = path === null ? await meantOf(listed, wanted, signal) : listed.filter((one) => one.path === path)
  if (meant.length === 0)
    throw new DownloadFault(
      path === null ? `No file of "${repo_id}" is meant by the patterns.` : `"${repo_id}" has no file "${path}".`,
    )
  const files = new Map<string, HubFile>()
  for (const [at, one] of meant.entries()) {
    if (at % IN_A_TURN === IN_A_TURN - 1) {
      await setImmediate()
      signal.throwIfAborted()
    }
    const file = one.judged()
    const twin = files.get(folded(file.path))
    if (twin && (twin.path !== file.path || twin.size !== file.size || twin.digest.hex !== file.digest.hex))
      throw new DownloadFault(`The hub lists both ${shown(twin.path)} and ${shown(file.path)}. ${CURE}`)
    files.set(folded(file.path), file)
  }
  return [...files.values()]
}
