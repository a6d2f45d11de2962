// Changes the master key: re-encrypts everything that is encrypted, in small transactions. Each row names its key, and the database names the new
// key, so that the next run of the command completes an interrupted change.
import { keepFormerRequestKeys } from '../db/request-keys.ts'
import {
  rowSealContext,
  SEALED_COLUMNS,
  type SealedColumn,
  type SealedRowKey,
  StoredKeyFingerprints,
} from '../db/sealed-columns.ts'
import type { Store } from '../db/store.ts'
import { StartError } from '../start-error.ts'
import {
  generateMasterKey,
  masterKeyPath,
  moveKeyFile,
  nextMasterKeyPath,
  readKeyFile,
  removeKeyFile,
  writeKeyFile,
} from '../vault/master-key-file.ts'
import { createVault, isBoundToKey } from '../vault/open-vault.ts'
import { type Vault, VaultError } from '../vault/vault.ts'
import { moveKeyFileAside } from './stored-data/superseded-files.ts'

export interface RotationResult {
  /** Rows that were re-encrypted. */
  readonly rows: number
  /** Rows that could not be decrypted, and were left unchanged. */
  readonly damaged: number
  /** False: the change was stopped, and the next run continues it. */
  readonly done: boolean
  /** The new path of the former key file: earlier backups need that key. */
  readonly kept: string | null
}

/** The texts of the keys. `next` null: the change generates a key, which replaces the key in the data folder. */
export interface RotationKeys {
  readonly present: string | null
  readonly next: string | null
}

/**
 * Changes the key of everything in `store` and, unless the keys are given, of the data folder `folder`. `stop` ends the change between two
 * transactions.
 * @throws StartError when the keys are not those of the data, or of an interrupted change
 */
export async function rotateMasterKey(
  store: Store,
  folder: string,
  keys: RotationKeys,
  stop: AbortSignal,
): Promise<RotationResult> {
  const facts = new StoredKeyFingerprints(store)
  const waiting = keys.next ?? readKeyFile(nextMasterKeyPath(folder))
  let sealed: RotationResult = { rows: 0, damaged: 0, done: true, kept: null }
  // Otherwise nothing is left to encrypt: an earlier change was interrupted after the last row.
  if (waiting === null || createVault(waiting).fingerprint !== facts.fingerprint()) {
    const from = openPresentVault(folder, keys.present, facts)
    const to = openNextVault(folder, waiting, facts)
    await facts.begin(to.fingerprint)
    sealed = await resealAll(store, from, to, stop)
    if (!sealed.done) return sealed
    await store.write((tx) => keepFormerRequestKeys(tx, from, to))
    await facts.keep(to.fingerprint)
  }
  return { ...sealed, kept: replaceKeyFile(folder, keys.next === null) }
}

function openPresentVault(folder: string, given: string | null, facts: StoredKeyFingerprints): Vault {
  const key = given ?? readKeyFile(masterKeyPath(folder))
  if (key === null)
    throw new StartError(`there is no key file ${masterKeyPath(folder)}; set SECRETS_MASTER_KEY to the present key`)
  const vault = createVault(key)
  if (isBoundToKey(facts) && facts.fingerprint() !== vault.fingerprint)
    throw new StartError(
      `stored data was encrypted under another key than that of ${given === null ? masterKeyPath(folder) : 'SECRETS_MASTER_KEY'}; set SECRETS_MASTER_KEY to the present key`,
    )
  return vault
}

function openNextVault(folder: string, waiting: string | null, facts: StoredKeyFingerprints): Vault {
  const begun = facts.next()
  const vault = waiting === null ? null : createVault(waiting)
  if (begun !== null && vault?.fingerprint !== begun)
    throw new StartError(
      'an earlier change of the key was interrupted; complete it with the same SECRETS_MASTER_KEY_NEW, or without it if it was not set',
    )
  if (vault !== null) return vault
  const key = generateMasterKey()
  writeKeyFile(nextMasterKeyPath(folder), key)
  return createVault(key)
}

function replaceKeyFile(folder: string, made: boolean): string | null {
  const kept = moveKeyFileAside(folder)
  if (made) moveKeyFile(nextMasterKeyPath(folder), masterKeyPath(folder))
  // Nothing is encrypted under this key.
  else removeKeyFile(nextMasterKeyPath(folder))
  return kept
}

/** Keys that are read at once, and bytes after which a transaction ends. */
const ROWS = 500
const BYTES = 4 * 1024 * 1024

async function resealAll(store: Store, from: Vault, to: Vault, stop: AbortSignal): Promise<RotationResult> {
  let [rows, damaged] = [0, 0]
  for (const column of SEALED_COLUMNS) {
    let after: SealedRowKey | null = null
    for (;;) {
      if (stop.aborted) return { rows, damaged, done: false, kept: null }
      const batch: SealedRowKey[] = store.read((tx) => column.keysSealedOtherwise(tx, to.key_id, after, ROWS))
      if (batch.length === 0) break
      const done: BatchResult = await resealBatch(store, column, batch, from, to)
      rows += done.rows
      damaged += done.damaged
      after = done.last
    }
  }
  return { rows, damaged, done: true, kept: null }
}

interface BatchResult {
  readonly rows: number
  readonly damaged: number
  readonly last: SealedRowKey
}

function resealBatch(
  store: Store,
  column: SealedColumn,
  batch: readonly SealedRowKey[],
  from: Vault,
  to: Vault,
): Promise<BatchResult> {
  return store.write((tx) => {
    let [rows, damaged, bytes] = [0, 0, 0]
    let last = batch[0]!
    for (const keys of batch) {
      last = keys
      const context = rowSealContext(keys)
      const body = column.body(tx, keys)!
      const plain = tryOpen(() => column.cipher(from, keys).open(body, context))
      if (plain === null) damaged++
      else {
        column.put(tx, keys, column.cipher(to, keys).seal(plain, context))
        rows++
      }
      bytes += body.length
      if (bytes >= BYTES) break
    }
    return { rows, damaged, last }
  })
}

function tryOpen(open: () => Uint8Array): Uint8Array | null {
  try {
    return open()
  } catch (error) {
    if (error instanceof VaultError) return null
    throw error
  }
}
