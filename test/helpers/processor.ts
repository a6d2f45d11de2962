// What work costs, whatever else the machine and the process do meanwhile.

function sinceMs(before: NodeJS.CpuUsage): number {
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** The processor time that synchronous work takes of the thread that does it, in milliseconds. */
export function processorMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  return sinceMs(before)
}

/** The processor time of this thread until work has settled, in milliseconds. */
export async function settledMs(work: () => unknown): Promise<number> {
  const before = process.threadCpuUsage()
  await work()
  return sinceMs(before)
}

/** Bare work beside which other work is measured: it makes many small objects, a text of them, and objects of the text. */
function bareWork(): void {
  const objects = Array.from({ length: 40_000 }, (_, at) => ({ id: at, name: `n${at}`, at: [at, at + 1] }))
  JSON.parse(JSON.stringify(objects))
}

/** The processor time of the bare work on the quiet machine where the limits of tests were written, in milliseconds. */
const BARE_MS = 24

/** How many times as long as on that machine work takes now, such as where others use the same caches and memory: 1 at the least. */
export function slowness(): number {
  return Math.max(1, Math.min(processorMs(bareWork), processorMs(bareWork)) / BARE_MS)
}

/** What work that took `took` may take, by what it may take on a quiet machine; both in milliseconds. */
export function mostMs(took: number, limit: number): number {
  return took < limit ? limit : limit * slowness()
}

/** How often work is measured at the most: neighbours that share caches and cores make it dearer for a while. */
const TRIES = 10

/** The least that work takes, as on a quiet machine: measured until it is less than `enough`. */
export function leastProcessorMs(enough: number, work: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; least >= enough && tries < TRIES; tries++) {
    const took = processorMs(work)
    least = Math.min(least, took < enough ? took : took / slowness())
  }
  return least
}
