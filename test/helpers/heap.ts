// Measures the heap after garbage collection.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Returns the reachable bytes in the heap of this thread. */
export function heldBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
