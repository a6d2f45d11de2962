// The master key of test servers. A random key would begin with any letter. A stream that pauses after that letter is held back, because it
// may be the beginning of the key. One test in a hundred would then wait in vain.
import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** With this beginning, the key and all its encoded forms begin with a U or a V. */
const BEGINNING = 'U=9!|the key of a server in tests|'

/** Writes a new key into an empty data folder. */
export function giveKey(folder: string): void {
  if (existsSync(folder) && readdirSync(folder).length === 0)
    writeFileSync(join(folder, 'master.key'), BEGINNING + randomUUID(), { mode: 0o600 })
}
