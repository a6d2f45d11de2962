// Opens the vault at a start: it chooses the master key, and checks that the data was encrypted under it.
import { StartError } from '../start-error.ts'
import {
  generateMasterKey,
  masterKeyPath,
  nextMasterKeyPath,
  readKeyFile,
  restrictKeyFile,
  writeKeyFile,
} from './master-key-file.ts'
import { Vault } from './vault.ts'

/** What the database records about its key. */
export interface VaultKeyRecord {
  /** The fingerprint of the key with which the database was last opened; null before the first time. */
  fingerprint(): string | null
  /** During a change of the master key, the fingerprint of the new key. */
  next(): string | null
  /** Whether the database contains encrypted data. */
  holdsSealed(): boolean
  keep(fingerprint: string): Promise<void>
  /** Whether the database ends with the process. */
  readonly in_memory?: boolean
}

export interface OpenedVault {
  readonly vault: Vault
  /** The key itself, which has to be redacted from everything that is served or logged. */
  readonly key: string
  /** A sentence for the log, or null. */
  readonly warning: string | null
}

/**
 * Opens the vault under `given` (SECRETS_MASTER_KEY), or else under the key in the data folder `folder`. If there is none yet, it generates
 * a key. A database without encrypted data accepts any key.
 * @throws StartError when the key is not the one of the data, or cannot be read
 */
export async function openVault(folder: string, given: string | null, record: VaultKeyRecord): Promise<OpenedVault> {
  if (record.next() !== null) throw interruptedRotationError()
  const path = masterKeyPath(folder)
  const key = given ?? readKeyFile(path) ?? createFirstKey(folder, record)
  const vault = createVault(key)
  if (record.fingerprint() !== vault.fingerprint) {
    if (isBoundToKey(record)) throw wrongKeyError(given === null ? path : 'SECRETS_MASTER_KEY', folder)
    await record.keep(vault.fingerprint)
  }
  return { vault, key, warning: restrictKeyFile(path) }
}

export function createVault(key: string): Vault {
  return new Vault(Buffer.from(key))
}

/** Whether the database opens with one key only. */
export function isBoundToKey(record: VaultKeyRecord): boolean {
  return record.fingerprint() !== null && record.holdsSealed()
}

function createFirstKey(folder: string, record: VaultKeyRecord): string {
  const path = masterKeyPath(folder)
  if (isBoundToKey(record)) {
    if (readKeyFile(nextMasterKeyPath(folder)) !== null) throw interruptedRotationError()
    throw new StartError(
      `the key file ${path} is missing, and stored data needs it; restore a copy, or set SECRETS_MASTER_KEY to its content`,
    )
  }
  const key = generateMasterKey(!record.in_memory)
  writeKeyFile(path, key)
  return key
}

function wrongKeyError(source: string, folder: string): StartError {
  if (readKeyFile(nextMasterKeyPath(folder)) !== null) return interruptedRotationError()
  return new StartError(
    `stored data was encrypted under another key than that of ${source}; set SECRETS_MASTER_KEY to the key of the data`,
  )
}

function interruptedRotationError(): StartError {
  return new StartError('a change of the master key was interrupted; complete it with "svc secrets rotate"')
}
