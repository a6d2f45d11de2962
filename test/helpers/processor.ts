// What work costs, whatever else the machine does meanwhile.

/** The processor time that synchronous work takes, in milliseconds. */
export function processorMs(work: () => void): number {
  const before = process.cpuUsage()
  work()
  const { user, system } = process.cpuUsage(before)
  return (user + system) / 1000
}
