// Matches paths against patterns: `*` stands for any characters, `?` for one. Users choose names and patterns, so the total time is
// bounded, and other work gets its turn.
import { setImmediate } from 'node:timers/promises'
import { DownloadError } from './error.ts'

export interface GlobPatterns {
  /** Null for all files. */
  readonly allow: readonly string[] | null
  readonly ignore: readonly string[]
}

/** Steps between turns: a few milliseconds of work. */
const STEPS_PER_TURN = 1_000_000
const MOST_STEPS = 2_000_000_000

/** Returns the files that match the patterns. @throws DownloadError if that takes too long; the signal's reason */
export async function matchFiles<T extends { readonly path: string }>(
  files: readonly T[],
  { allow, ignore }: GlobPatterns,
  signal: AbortSignal,
  most_steps = MOST_STEPS,
): Promise<T[]> {
  const meant: T[] = []
  let [steps, turn] = [0, 0]
  const fits = async (path: string, patterns: readonly string[]): Promise<boolean> => {
    for (const pattern of patterns) {
      const compared = matchPattern(pattern, path)
      steps += compared.steps
      if (steps > most_steps)
        throw new DownloadError('Matching these patterns takes too long. Use fewer or simpler ones.')
      if (steps - turn > STEPS_PER_TURN) {
        turn = steps
        await setImmediate()
        signal.throwIfAborted()
      }
      if (compared.fits) return true
    }
    return false
  }
  for (const file of files)
    if ((allow === null || (await fits(file.path, allow))) && !(await fits(file.path, ignore))) meant.push(file)
  return meant
}

/** Backtracks only to the last star: characters that an earlier star could take, the last one can take as well. */
function matchPattern(pattern: string, path: string): { readonly fits: boolean; readonly steps: number } {
  let [at, place, star, from, steps] = [0, 0, -1, 0, 0]
  while (at < path.length) {
    steps++
    if (pattern[place] === '*') {
      star = place++
      from = at
    } else if (place < pattern.length && (pattern[place] === '?' || pattern[place] === path[at])) {
      place++
      at++
    } else if (star >= 0) {
      place = star + 1
      at = ++from
    } else return { fits: false, steps }
  }
  while (pattern[place] === '*') place++
  return { fits: place === pattern.length, steps: steps + 1 }
}
