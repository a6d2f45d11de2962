// The master key of servers in tests. A made-up one begins with any letter: a stream that pauses behind that letter holds it back, since it may be
// the beginning of the key, so that one test in a hundred would wait for it in vain.
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** Itself and in all of its forms a key that begins so begins with a U or a V. */
const BEGINNING = 'U=9!|the key of a server in tests|'

/** Puts a new key into a data folder that is empty. */
export function giveKey(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0)
    writeFileSync(join(folder, 'master.key'), BEGINNING + randomUUID(), { mode: 0o600 })
}
