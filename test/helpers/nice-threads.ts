// How nice the threads of this process are to others, which only Linux tells.
import { readdirSync, readFileSync } from 'node:fs'

/** Why a test of it is left out; false where it can be. */
export const NO_NICE_THREADS = process.platform === 'linux' ? false : 'only Linux has priorities of threads'

interface Thread {
  readonly name: string
  readonly nice: number
}

/** The threads of a process as they are now; one that ends meanwhile is left out. Behind the name of a thread, its niceness is the 17th field. */
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

/** The niceness of the threads of this process that are nicer than others. */
export function niceThreads(): number[] {
  return threads()
    .map(({ nice }) => nice)
    .filter((nice) => nice > 0)
}
