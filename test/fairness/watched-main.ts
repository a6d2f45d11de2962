// The service as a process that also measures how long its main thread is held. At SIGUSR2 it prints the longest hold since the
// last SIGUSR2 to standard error, in milliseconds.
import { readFileSync } from 'node:fs'

/** Between two looks. A hold that is shorter is not seen, and one that is longer counts up to this much more. */
const LOOK_MS = 5

/** Sums since the start, of this thread. */
interface Sums {
  /** Milliseconds of the processor. */
  readonly processor: number
  /** Milliseconds between the waits of the event loop in which it had a processor, or waited for the disk. */
  readonly busy: number
  /** Bytes that it wrote to files, known on Linux alone: how long the disk takes for them depends on what others write. */
  readonly written: number
}

/** How long this thread was ready to run and had no processor, as others had them. Known on Linux alone. */
function queued(): number {
  const [, waited] = readFileSync('/proc/thread-self/schedstat', 'utf8').split(' ')
  return Number(waited) / 1e6
}

function written(): number {
  return Number(/^write_bytes: (\d+)/m.exec(readFileSync('/proc/thread-self/io', 'utf8'))?.[1])
}

/** Of what takes time, all but what others take: a machine that they keep busy holds nothing. */
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
