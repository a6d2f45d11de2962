// Reads the niceness of this process's threads, which only Linux shows.
import { readdirSync, readFileSync } from 'node:fs'

/** Why tests of it are skipped. False where they can run. */
export const NO_NICE_THREADS = process.platform === 'linux' ? false : 'only Linux has priorities of threads'

interface Thread {
  readonly name: string
  readonly nice: number
}

/** Returns the current threads of a process, without those that end meanwhile. The niceness is the 17th field after the thread's name. */
export function threads(process: number | 'self' = 'self'): Thread[] {
  return readdirSync(`/proc/${process}/task`).flatMap((id) => {
    try {
      const [, name, rest] = /\((.*)\) (.*)/s.exec(readFileSync(`/proc/${process}/task/${id}/stat`, 'utf8'))!
      return [{ name: name!, nice: Number(rest!.split(' ')[16]) }]
    } catch {
      return []
    }
  })
}

/** Returns the niceness of this process's threads with a lower priority. */
export function niceThreads(): number[] {
  return threads()
    .map(({ nice }) => nice)
    .filter((nice) => nice > 0)
}
