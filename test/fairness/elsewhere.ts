// Simulates an attacker on another machine. In tests the attacker shares the server's processors, and would take as much of them as it can.
import { readdirSync } from 'node:fs'
import { platform, setPriority } from 'node:os'

/** The niceness of the attacker. The server and the other user have 0, and so a higher priority. */
const LAST = 19

/** Lowers the priority of this process until disposal. Only Linux supports it, and only an administrator can undo it. */
export function asElsewhere(): Disposable {
  setAll(LAST)
  return { [Symbol.dispose]: () => setAll(0) }
}

function setAll(priority: number): void {
  if (platform() !== 'linux') throw new Error('only Linux has priorities of single threads')
  for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), priority)
}
