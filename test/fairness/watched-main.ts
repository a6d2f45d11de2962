// The service as a process that also measures how long its main thread is held. At SIGUSR2 it prints the longest hold since the
// last SIGUSR2 to standard error, in milliseconds.

/** Between two looks. A hold that is shorter is not seen, and one that is longer counts up to this much more. */
const LOOK_MS = 5

let longest = 0
let before = process.threadCpuUsage()

/** Only processor time of this thread counts: a machine that others keep busy holds nothing. */
function look(): void {
  const { user, system } = process.threadCpuUsage(before)
  before = process.threadCpuUsage()
  longest = Math.max(longest, (user + system) / 1_000)
}

setInterval(look, LOOK_MS).unref()

process.on('SIGUSR2', () => {
  look()
  process.stderr.write(`longest hold ${longest.toFixed(1)} ms\n`)
  longest = 0
})

await import('../../src/main.ts')
