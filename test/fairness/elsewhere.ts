// Stands for an attacker on another machine: here the attacker has the processors of the server, and takes as much of them as it can get.
import { readdirSync } from 'node:fs'
import { platform, setPriority } from 'node:os'

/** How nice the attacker is: the server and the other user, who have 0, go before it. */
const LAST = 19

/** Lets all other processes go before this one, until that is disposed of: Linux alone can, and its administrator alone can take it back. */
export function asElsewhere(): Disposable {
  setAll(LAST)
  return { [Symbol.dispose]: () => setAll(0) }
}

function setAll(priority: number): void {
  if (platform() !== 'linux') throw new Error('only Linux has priorities of single threads')
  for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), priority)
}
