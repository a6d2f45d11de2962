// Opens the vault at a start: which master key counts, and whether it is the one that the data was sealed under.
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

/** What the database remembers of its key. */
export interface VaultKeyRecord {
  /** The fingerprint of the key that it was last opened with; null before the first time. */
  fingerprint(): string | null
  /** While everything is sealed anew: the fingerprint of the key that it will be sealed under. */
  next(): string | null
  /** Whether it holds anything that is sealed. */
  holdsSealed(): boolean
  keep(fingerprint: string): Promise<void>
  /** Whether the database ends with the process. */
  readonly in_memory?: boolean
}

export interface OpenedVault {
  readonly vault: Vault
  /** The key itself, to be kept out of everything that is served or logged. */
  readonly key: string
  /** A sentence for the log, or null. */
  readonly warning: string | null
}

/**
 * The vault under `given` (SECRETS_MASTER_KEY), else under the key in the data folder `folder`, which is made where there is none yet.
 * A database without anything sealed takes any key.
 * @throws StartError when the key is not the one that the data was sealed under, or cannot be had
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
      `the key file ${path} is missing, and stored data needs it; bring back a copy, or set SECRETS_MASTER_KEY to what it held`,
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
  return new StartError('a change of the master key was interrupted; end it with "svc secrets rotate"')
}
