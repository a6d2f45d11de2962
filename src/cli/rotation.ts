// A change of the master key: everything that is sealed is sealed anew, in small transactions. Each row says under which key it is,
// and the database which key it is on the way to, so that a change that was interrupted is ended by the next one.
import { KeyFacts, SEALED, type SealedColumn, type SealedKeys, sealedContext } from '../db/sealed.ts'
import type { Store } from '../db/store.ts'
import { StartError } from '../start-error.ts'
import {
  keyFile,
  makeKey,
  moveKeyFile,
  nextKeyFile,
  readKeyFile,
  removeKeyFile,
  writeKeyFile,
} from '../vault/master-key.ts'
import { isBound, vaultUnder } from '../vault/open.ts'
import { type Vault, VaultError } from '../vault/vault.ts'
import { keepFormerKey } from './former.ts'

export interface Rotation {
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
export async function rotate(store: Store, folder: string, keys: RotationKeys, stop: AbortSignal): Promise<Rotation> {
  const facts = new KeyFacts(store)
  const waiting = keys.next ?? readKeyFile(nextKeyFile(folder))
  let sealed: Rotation = { rows: 0, damaged: 0, done: true, kept: null }
  // Otherwise nothing is left to seal: an earlier change was interrupted after the last row.
  if (waiting === null || vaultUnder(waiting).fingerprint !== facts.fingerprint()) {
    const from = presentVault(folder, keys.present, facts)
    const to = nextVault(folder, waiting, facts)
    await facts.begin(to.fingerprint)
    sealed = await sealAllAnew(store, from, to, stop)
    if (!sealed.done) return sealed
    await facts.keep(to.fingerprint)
  }
  return { ...sealed, kept: replaceKeyFile(folder, keys.next === null) }
}

function presentVault(folder: string, given: string | null, facts: KeyFacts): Vault {
  const key = given ?? readKeyFile(keyFile(folder))
  if (key === null)
    throw new StartError(`there is no key file ${keyFile(folder)}; set SECRETS_MASTER_KEY to the present key`)
  const vault = vaultUnder(key)
  if (isBound(facts) && facts.fingerprint() !== vault.fingerprint)
    throw new StartError(
      `stored data was encrypted under another key than that of ${given === null ? keyFile(folder) : 'SECRETS_MASTER_KEY'}; set SECRETS_MASTER_KEY to the present key`,
    )
  return vault
}

function nextVault(folder: string, waiting: string | null, facts: KeyFacts): Vault {
  const begun = facts.next()
  const vault = waiting === null ? null : vaultUnder(waiting)
  if (begun !== null && vault?.fingerprint !== begun)
    throw new StartError(
      'an earlier change to another key was interrupted; end it with the SECRETS_MASTER_KEY_NEW that it was begun with, or without one',
    )
  if (vault !== null) return vault
  const key = makeKey()
  writeKeyFile(nextKeyFile(folder), key)
  return vaultUnder(key)
}

function replaceKeyFile(folder: string, made: boolean): string | null {
  const kept = keepFormerKey(folder)
  if (made) moveKeyFile(nextKeyFile(folder), keyFile(folder))
  // A key that nothing is sealed under.
  else removeKeyFile(nextKeyFile(folder))
  return kept
}

/** Keys that are asked for at once, and bytes after which a transaction ends. */
const ROWS = 500
const BYTES = 4 * 1024 * 1024

async function sealAllAnew(store: Store, from: Vault, to: Vault, stop: AbortSignal): Promise<Rotation> {
  let [rows, damaged] = [0, 0]
  for (const column of SEALED) {
    let after: SealedKeys | null = null
    for (;;) {
      if (stop.aborted) return { rows, damaged, done: false, kept: null }
      const batch: SealedKeys[] = store.read((tx) => column.otherwise(tx, to.key_id, after, ROWS))
      if (batch.length === 0) break
      const done: Batch = await sealBatch(store, column, batch, from, to)
      rows += done.rows
      damaged += done.damaged
      after = done.last
    }
  }
  return { rows, damaged, done: true, kept: null }
}

interface Batch {
  readonly rows: number
  readonly damaged: number
  readonly last: SealedKeys
}

function sealBatch(
  store: Store,
  column: SealedColumn,
  batch: readonly SealedKeys[],
  from: Vault,
  to: Vault,
): Promise<Batch> {
  return store.write((tx) => {
    let [rows, damaged, bytes] = [0, 0, 0]
    let last = batch[0]!
    for (const keys of batch) {
      last = keys
      const context = sealedContext(keys)
      const body = column.body(tx, keys)!
      const plain = opened(() => column.cipher(from, keys).open(body, context))
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

function opened(open: () => Uint8Array): Uint8Array | null {
  try {
    return open()
  } catch (error) {
    if (error instanceof VaultError) return null
    throw error
  }
}
