// The service as a process that also measures the holds of its main thread. At SIGUSR2 it prints the longest hold since the last SIGUSR2 to
// standard error, in milliseconds.
import { readFileSync } from 'node:fs'

/** The interval of checks. Shorter holds are not seen, and longer ones may count up to this much more. */
const LOOK_MS = 5

/** Sums of this thread since the start. */
interface Sums {
  /** Milliseconds of processor time. */
  readonly processor: number
  /** Milliseconds between the waits of the event loop, while it had a processor or waited for the disk. */
  readonly busy: number
  /** Bytes that it wrote to files, known only on Linux. The disk's time for them depends on other writers. */
  readonly written: number
}

/** How long this thread was ready to run without a processor. Known only on Linux. */
function queued(): number {
  const [, waited] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')
  return Number(waited) / 1e6
}

function written(): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/thread-self/io', 'utf8'))?.[1])
}

/** All time but that of other processes, because a busy machine holds no thread by itself. */
function sums(): Sums {
  const { user, system } = process.threadCpuUsage()
  const processor = (user + system) / 1_000
  if (process.platform !== 'linux') return { processor, busy: processor, written: 0 }
  return { processor, busy: performance.eventLoopUtilization().active - queued(), written: written() }
}

const NONE: Sums = { processor: 0, busy: 0, written: 0 }

let before = sums()
let longest = NONE

function look(): void {
  const now = sums()
  longest = {
    processor: Math.max(longest.processor, now.processor - before.processor),
    busy: Math.max(longest.busy, now.busy - before.busy),
    written: Math.max(longest.written, now.written - before.written),
  }
  before = now
}

setInterval(look, LOOK_MS).unref()

process.on('SIGUSR2', () => {
  look()
  const { processor, busy, written } = longest
  process.stderr.write(
    `longest hold ${processor.toFixed(1)} ms, ${busy.toFixed(1)} ms with the disk, ${written} bytes\n`,
  )
  longest = NONE
})

await import('../../src/main.ts')
