// Files that were replaced and are kept: data that a restore moved aside, and master keys of older backups. Their names end with the time.
import { chmodSync, existsSync, readdirSync } from 'node:fs'
import { basename, join } from 'node:path'
import { StartError } from '../../start-error.ts'
import { masterKeyPath, moveKeyFile, readKeyFile } from '../../vault/master-key-file.ts'
import { createVault } from '../../vault/open-vault.ts'
import { replaceControlCharacters } from '../shared/terminal-text.ts'

const SUPERSEDED_SUFFIX = '.before-'

/** `.before-20260101T000000000Z`, with a number after it if `taken` says that such a name exists. */
export function findFreeSuffix(taken: (ending: string) => boolean, now = new Date()): string {
  const stamp = now.toISOString().replace(/[-:.]/g, '')
  for (let n = 1; ; n++) {
    const ending = `${SUPERSEDED_SUFFIX}${stamp}${n === 1 ? '' : `-${n}`}`
    if (!taken(ending)) return ending
  }
}

/** Renames the key file of a data folder, and returns its new path; null: there is no key file. */
export function moveKeyFileAside(folder: string): string | null {
  const path = masterKeyPath(folder)
  if (!existsSync(path)) return null
  const kept = path + findFreeSuffix((ending) => existsSync(path + ending))
  chmodSync(path, 0o600)
  moveKeyFile(path, kept)
  return kept
}

/**
 * What the operator must do before a server can read data that is encrypted under the key with the fingerprint `needed` (null: no key), as a
 * sentence; null: nothing. `given` is SECRETS_MASTER_KEY.
 */
export function masterKeyAdvice(folder: string, given: string | null, needed: string | null): string | null {
  const path = masterKeyPath(folder)
  const former = needed === null ? null : findFormerKeyFile(folder, needed)
  const source = former === null ? null : replaceControlCharacters(former)
  if (given === null && !existsSync(path))
    return source === null
      ? 'before a server starts, put back the master.key of the backup, or set SECRETS_MASTER_KEY'
      : `before a server starts, rename ${source} to master.key: it is the key of the backup`
  const present = given === null ? readKeyFingerprint(path) : createVault(given).fingerprint
  if (needed === null || present === needed) return null
  const [name, place] =
    given === null ? ['master.key', replaceControlCharacters(path)] : ['SECRETS_MASTER_KEY', 'SECRETS_MASTER_KEY']
  const key = source === null ? `the key with the fingerprint ${needed}` : `the key in ${source}`
  return `the backup needs another key than that of ${place}: before a server starts, replace ${name} with ${key}, and keep the present key for the data that needs it`
}

/** The file of the former key with this fingerprint. */
function findFormerKeyFile(folder: string, fingerprint: string): string | null {
  const start = basename(masterKeyPath(folder)) + SUPERSEDED_SUFFIX
  const names = readdirSync(folder).filter((name) => name.startsWith(start))
  return names.map((name) => join(folder, name)).find((path) => readKeyFingerprint(path) === fingerprint) ?? null
}

function readKeyFingerprint(path: string): string | null {
  try {
    const key = readKeyFile(path)
    return key === null ? null : createVault(key).fingerprint
  } catch (error) {
    if (error instanceof StartError) return null
    throw error
  }
}
