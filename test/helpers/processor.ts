// What work costs, whatever else the machine and the process do meanwhile.

/** The processor time that synchronous work takes of the thread that does it, in milliseconds. */
export function processorMs(work: () => void): number {
  const before = process.threadCpuUsage()
  work()
  const { user, system } = process.threadCpuUsage(before)
  return (user + system) / 1000
}

/** How often work is measured at the most: neighbours that share caches and cores make it dearer for a while. */
const TRIES = 10

/** The least that work takes, measured until it is less than `enough`. */
export function leastProcessorMs(enough: number, work: () => void): number {
  let least = Number.POSITIVE_INFINITY
  for (let tries = 0; least >= enough && tries < TRIES; tries++) least = Math.min(least, processorMs(work))
  return least
}
