// What was replaced and is kept: data that a restore moved aside, and master keys that older backups are still under. All of it has
// names that end with the time.
import { chmodSync, existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { StartError } from '../start-error.ts'
import { keyFile, moveKeyFile, readKeyFile } from '../vault/master-key.ts'
import { vaultUnder } from '../vault/open.ts'
import { printable } from './text.ts'

const BEFORE = '.before-'

/** `.before-20260101T000000000Z`, or with a number after it where `taken` says that something has such a name already. */
export function freeEnding(taken: (ending: string) => boolean, now = new Date()): string {
  const stamp = now.toISOString().replace(/[-:.]/g, '')
  for (let n = 1; ; n++) {
    const ending = `${BEFORE}${stamp}${n === 1 ? '' : `-${n}`}`
    if (!taken(ending)) return ending
  }
}

/** Gives the key file of a data folder another name, and tells it; null where there is no key file. */
export function keepFormerKey(folder: string): string | null {
  const path = keyFile(folder)
  if (!existsSync(path)) return null
  const kept = path + freeEnding((ending) => existsSync(path + ending))
  chmodSync(path, 0o600)
  moveKeyFile(path, kept)
  return kept
}

/**
 * What has to be done before a server can read data that is sealed under the key with the fingerprint `needed` (null: under none), as a
 * sentence; null where nothing has. `given` is SECRETS_MASTER_KEY.
 */
export function keyAdvice(folder: string, given: string | null, needed: string | null): string | null {
  const path = keyFile(folder)
  const former = needed === null ? null : formerKeyFile(folder, needed)
  const source = former === null ? null : printable(former)
  if (given === null && !existsSync(path))
    return source === null
      ? 'before a server starts, put back the master.key that belongs to it, or set SECRETS_MASTER_KEY'
      : `before a server starts, put ${source} back as master.key: that is the key that belongs to it`
  const present = given === null ? fingerprintOf(path) : vaultUnder(given).fingerprint
  if (needed === null || present === needed) return null
  const [name, place] = given === null ? ['master.key', printable(path)] : ['SECRETS_MASTER_KEY', 'SECRETS_MASTER_KEY']
  const key = source === null ? `the key of that time (its fingerprint is ${needed})` : `the key in ${source}`
  return `it was made under another key than that of ${place}: before a server starts, put ${key} in the place of ${name}, and keep the present one for what is under it`
}

/** The file of a former key that has this fingerprint. */
function formerKeyFile(folder: string, fingerprint: string): string | null {
  const start = basename(keyFile(folder)) + BEFORE
  const names = readdirSync(folder).filter((name) => name.startsWith(start))
  return names.map((name) => join(folder, name)).find((path) => fingerprintOf(path) === fingerprint) ?? null
}

function fingerprintOf(path: string): string | null {
  try {
    const key = readKeyFile(path)
    return key === null ? null : vaultUnder(key).fingerprint
  } catch (error) {
    if (error instanceof StartError) return null
    throw error
  }
}
