// How nice the threads of this process are to others, which only Linux tells.
import { readdirSync, readFileSync } from 'node:fs'

/** Why a test of it is left out; false where it can be. */
export const NO_NICE_THREADS = process.platform === 'linux' ? false : 'only Linux has priorities of threads'

/** The niceness of the threads that are nicer than others; behind the name of a thread, it is the 17th field. */
export function niceThreads(): number[] {
  const found = readdirSync('/proc/self/task').map((id) => {
    try {
      return Number(readFileSync(`/proc/self/task/${id}/stat`, 'utf8').split(') ')[1]!.split(' ')[16])
    } catch {
      return 0
    }
  })
  return found.filter((nice) => nice > 0)
}
