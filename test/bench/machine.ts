// Checks whether this machine is quiet enough for reliable figures, and measures what its processes use. Most of it works only on Linux.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { closeSync, fdatasyncSync, openSync, readFileSync, rmSync, writeSync } from 'node:fs'
import { availableParallelism, cpus, loadavg } from 'node:os'
import { join } from 'node:path'
import { temporaryFolder } from '../helpers/server.ts'

/** Figures are unreliable where another virtual machine takes this part of all processor time, or other programs this part of a core. */
const STEAL_LIMIT = 0.03
const SPREAD_LIMIT = 1.25
const LOAD_LIMIT = 0.5
/** Slower syncs mean that other programs write, or that runs mainly measure the disk. */
const SYNC_LIMIT_MS = 1
/** The unit of /proc: the kernel's USER_HZ, 100 on every platform of Node. */
const TICK_MS = 10

export interface Quietness {
  /** Why the figures are unreliable. Empty without a reason. */
  reasons: string[]
  machine: string
}

/** Watches from now on. The returned function returns the observations. */
export function watchMachine(): () => Quietness {
  const before = stolen()
  const [load = 0] = loadavg()
  const first = calibrate()
  const syncs = [syncMs()]
  return () => {
    const last = calibrate()
    syncs.push(syncMs())
    const reasons = [
      load > availableParallelism() * LOAD_LIMIT && `the load was ${load.toFixed(2)} before it began`,
      ...spread('before', first),
      ...spread('after', last),
      ...stealing(before, stolen()),
      Math.max(...syncs) > SYNC_LIMIT_MS && 'the disk was slow to sync',
    ].filter((reason) => typeof reason === 'string')
    const disk = `a sync of the disk takes ${syncs.map((ms) => ms.toFixed(2)).join(' to ')} ms`
    const processor = `${availableParallelism()} × ${cpus()[0]?.model ?? 'unknown'}`
    return { reasons, machine: `${processor}, Node ${process.version}; ${disk}` }
  }
}

/** Does the same work ten times. Returns the shortest time, and the excess of the median. */
function calibrate(): { best: number; middle: number } {
  const block = Buffer.alloc(1 << 20, 7)
  const times = Array.from({ length: 10 }, () => {
    const from = performance.now()
    createHash('sha256').update(block).update(block).update(block).update(block).digest()
    return performance.now() - from
  }).sort((a, b) => a - b)
  return { best: times[0]!, middle: times[5]! }
}

function spread(when: string, { best, middle }: { best: number; middle: number }): string[] {
  const ratio = middle / best
  return ratio > SPREAD_LIMIT ? [`equal work took up to ${ratio.toFixed(2)} times as long ${when}`] : []
}

/** The time of a small synced write, as in every commit of a job: the median of thirty. */
function syncMs(): number {
  const folder = temporaryFolder()
  const file = openSync(join(folder, 'sync'), 'w')
  try {
    const block = Buffer.alloc(16_384, 7)
    const times = Array.from({ length: 30 }, () => {
      writeSync(file, block)
      const from = performance.now()
      fdatasyncSync(file)
      return performance.now() - from
    })
    return times.sort((a, b) => a - b)[15]!
  } finally {
    closeSync(file)
    rmSync(folder, { recursive: true, force: true })
  }
}

interface Ticks {
  all: number
  steal: number
}

function stolen(): Ticks | null {
  try {
    const [first = ''] = readFileSync('/proc/stat', 'utf8').split('\n')
    const counts = first.trim().split(/\s+/).slice(1, 9).map(Number)
    return { all: counts.reduce((sum, count) => sum + count, 0), steal: counts[7] ?? 0 }
  } catch {
    return null
  }
}

function stealing(before: Ticks | null, after: Ticks | null): string[] {
  if (!before || !after || after.all === before.all) return []
  const part = (after.steal - before.steal) / (after.all - before.all)
  return part > STEAL_LIMIT ? [`other machines took ${(part * 100).toFixed(0)} % of the processor`] : []
}

/** The processor time of a process in ms. Null where the system does not report it. */
export function cpuMs(pid: number): number | null {
  try {
    // The second field is a name in brackets, which may hold spaces.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]!.split(' ')
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS
  } catch {
    return null
  }
}

/** The resident memory of a process in MB. */
export function residentMb(pid: number): number {
  return Math.round(residentKib(pid) / 1024)
}

function residentKib(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))![1])
  } catch {
    return Number(execFileSync('ps', ['-o', 'rss=', '-p', String(pid)], { encoding: 'utf8' }).trim())
  }
}
