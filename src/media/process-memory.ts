// Reads the memory of a process on Linux. On other systems each reading would need another process.
import { readFileSync } from 'node:fs'

/** The page size that Linux counts in on all machines with Node binaries. */
const PAGE_BYTES = 4_096

/** In bytes; null on another system, or for a process that has ended. */
export function readProcessMemory(pid: number): number | null {
  try {
    const resident = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1])
    return Number.isInteger(resident) ? resident * PAGE_BYTES : null
  } catch {
    return null
  }
}
