// How much memory a process has, as Linux tells. Other systems tell in ways of their own, which would each cost another process.
import { readFileSync } from 'node:fs'

/** Linux counts in pages; those of all machines that Node has binaries for are of this size, or counted so. */
const PAGE_BYTES = 4_096

/** In bytes, or null where nobody tells: another system, or a process that is gone. */
export function readProcessMemory(pid: number): number | null {
  try {
    const resident = Number(readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ')[1])
    return Number.isInteger(resident) ? resident * PAGE_BYTES : null
  } catch {
    return null
  }
}
