// What the heap holds once garbage is collected.
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** Bytes of the heap of this thread that something holds. */
export function heldBytes(): number {
  collectGarbage()
  return process.memoryUsage().heapUsed
}
