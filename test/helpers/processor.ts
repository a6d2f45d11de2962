// Measures the processor time of work, independent of other load.

function sinceMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** Returns the processor time of synchronous work on this thread, in milliseconds. */
export function processorMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  return sinceMs(before)
}

/** Returns the processor time of this thread until work has settled, in milliseconds. */
export async function settledMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  return sinceMs(before)
}

/** Reference work: it creates many small objects, serializes them, and parses the text. */
function bareWork(): void {
  const objects = Array.from({ length: 40_000 }, (_, at) => ({ id: at, name: `n${at}`, at: [at, at + 1] }))
  JSON.parse(JSON.stringify(objects))
}

/** The processor time of the reference work on the quiet machine on which the limits were set, in milliseconds. */
const BARE_MS = 24

/** How much slower work is now than on that machine, such as under load on caches and memory. At least 1. */
export function slowness(): number {
  return Math.max(1, Math.min(processorMs(bareWork), processorMs(bareWork)) / BARE_MS)
}

/** Returns the limit of work that took `took`, from its limit on a quiet machine. Both are in milliseconds. */
export function mostMs(took: number, limit: number): number {
  return took < limit ? limit : limit * slowness()
}

/** The most measurements. Processes that share caches and cores slow work down for a while. */
const TRIES = 10

/** Returns the least time of some measurements, as on a quiet machine. It stops at a time below `enough`. */
export function leastProcessorMs(enough: number, work: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; least >= enough && tries < TRIES; tries++) {
    const took = processorMs(work)
    least = Math.min(least, took < enough ? took : took / slowness())
  }
  return least
}

/** As `leastProcessorMs`, for work that settles later. */
export async function leastSettledMs(enough: number, work: () => unknown): Promise<number> {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; least >= enough && tries < TRIES; tries++) {
    const took = await settledMs(work)
    least = Math.min(least, took < enough ? took : took / slowness())
  }
  return least
}
