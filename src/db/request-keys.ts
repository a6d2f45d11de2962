// The keys of the stored hashes of requests. Each master key has one. A change of the master key keeps those of former keys, encrypted under the new one,
// so that requests from before the change are still recognized.
import type { Log } from '../log.ts'
import { readKeyId, type Vault, VaultError } from '../vault/vault.ts'
import { readMetaValue, writeMetaValue } from './database-metadata.ts'
import type { Tx } from './store.ts'

/** The keys by the id of their master key, and the id of the present one. */
export interface RequestKeys {
  readonly present: string
  readonly keys: ReadonlyMap<string, Uint8Array>
}

/** A former key, encrypted; base64. */
interface StoredRequestKey {
  readonly key_id: string
  readonly body: string
}

const META_NAME = 'former_request_keys'
/** Older keys are dropped: no job is kept for so many changes of the master key. */
const MAX_FORMER_KEYS = 20

/** A former key that cannot be decrypted is left out. */
export function readRequestKeys(tx: Tx, vault: Vault, log: Pick<Log, 'warn'>): RequestKeys {
  const former = openFormerKeys(tx, [vault], log)
  return { present: vault.key_id, keys: new Map([...former, [vault.key_id, deriveRequestKey(vault)]]) }
}

/** Keeps the key of `from` and its former keys for `to`. An interrupted change may repeat it. */
export function keepFormerRequestKeys(tx: Tx, from: Vault, to: Vault): void {
  const former = openFormerKeys(tx, [from, to])
  // A change back to a former key makes it the present one.
  former.delete(to.key_id)
  former.delete(from.key_id)
  former.set(from.key_id, deriveRequestKey(from))
  const cipher = to.cipher('request key')
  const stored = [...former].slice(-MAX_FORMER_KEYS).map(([key_id, key]): StoredRequestKey => {
    return { key_id, body: Buffer.from(cipher.seal(key, key_id)).toString('base64') }
  })
  writeMetaValue(tx, META_NAME, JSON.stringify(stored))
}

function deriveRequestKey(vault: Vault): Uint8Array {
  return vault.signingKey('request')
}

/** The former keys that one of the vaults can decrypt, the oldest first. */
function openFormerKeys(tx: Tx, vaults: readonly Vault[], log?: Pick<Log, 'warn'>): Map<string, Uint8Array> {
  const stored = parseStoredKeys(readMetaValue(tx, META_NAME) ?? '[]')
  if (!stored)
    log?.warn(
      'the former request keys in the database are unreadable: hashes of requests under them cannot be compared',
    )
  const former = new Map<string, Uint8Array>()
  for (const { key_id, body } of stored ?? []) {
    const key = openKey(key_id, Buffer.from(body, 'base64'), vaults)
    if (key) former.set(key_id, key)
  }
  return former
}

/** Null if the text is malformed: its keys are lost. */
function parseStoredKeys(text: string): StoredRequestKey[] | null {
  try {
    const stored: unknown = JSON.parse(text)
    return Array.isArray(stored) && stored.every(isStoredKey) ? stored : null
  } catch {
    return null
  }
}

function isStoredKey(value: unknown): value is StoredRequestKey {
  const { key_id, body } = (value ?? {}) as Partial<Record<keyof StoredRequestKey, unknown>>
  return typeof key_id === 'string' && typeof body === 'string'
}

function openKey(key_id: string, body: Uint8Array, vaults: readonly Vault[]): Uint8Array | null {
  try {
    const sealed_under = readKeyId(body)
    const vault = vaults.find((one) => one.key_id === sealed_under)
    return vault?.cipher('request key').open(body, key_id) ?? null
  } catch (error) {
    if (error instanceof VaultError) return null
    throw error
  }
}
