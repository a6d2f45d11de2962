// A change of the master key: everything that is sealed is sealed anew, in small transactions. Each row says under which key it is,
// and the database which key it is on the way to, so that a change that was interrupted is ended by the next one.
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
  /** Rows that were sealed anew. */
  readonly rows: number
  /** Rows that could not be opened, and were left as they are. */
  readonly damaged: number
  /** False: it was stopped, and the next one goes on from there. */
  readonly done: boolean
  /** Where the key file that was there before lies now: backups that were made before open with that key alone. */
  readonly kept: string | null
}

/** Keys by their texts. `next` null: the change makes a key, in the place of the one in the data folder. */
export interface RotationKeys {
  readonly present: string | null
  readonly next: string | null
}

/**
 * Changes the key of everything in `store` and, unless the keys are given, of the data folder `folder`. `stop` ends it between two
 * transactions.
 * @throws StartError when the keys are not those of the data, or of a change that was interrupted
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
  // Otherwise nothing is left to seal: an earlier change was interrupted after the last row.
  if (waiting === null || createVault(waiting).fingerprint !== facts.fingerprint()) {
    const from = openPresentVault(folder, keys.present, facts)
    const to = openNextVault(folder, waiting, facts)
    await facts.begin(to.fingerprint)
    sealed = await resealAll(store, from, to, stop)
    if (!sealed.done) return sealed
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
      'an earlier change to another key was interrupted; end it with the SECRETS_MASTER_KEY_NEW that it was begun with, or without one',
    )
  if (vault !== null) return vault
  const key = generateMasterKey()
  writeKeyFile(nextMasterKeyPath(folder), key)
  return createVault(key)
}

function replaceKeyFile(folder: string, made: boolean): string | null {
  const kept = moveKeyFileAside(folder)
  if (made) moveKeyFile(nextMasterKeyPath(folder), masterKeyPath(folder))
  // A key that nothing is sealed under.
  else removeKeyFile(nextMasterKeyPath(folder))
  return kept
}

/** Keys that are asked for at once, and bytes after which a transaction ends. */
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
