// Secrets of users: kept sealed, given to the nodes of their owner by name, and never shown. Every value that is known here is known to the
// redactor, from the start of the process or the moment in which it is set.

import type { Secret } from '../../generated/types.ts'
import type { UserSecretTable } from '../db/schema.ts'
import { type Scope, scopedKey } from '../db/scope.ts'
import { sealedContext, USER_SECRET } from '../db/sealed.ts'
import type { Store } from '../db/store.ts'
import {
  deleteUserSecret,
  eachUserSecret,
  otherUserSecrets,
  putUserSecret,
  type StoredSecret,
  sealedSecret,
  userSecret,
  userSecretNames,
} from '../db/user-secrets.ts'
import { NodeError } from '../engine/node-error.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { type Cipher, type Vault, VaultError } from '../vault/vault.ts'
import { FormerSecrets } from './former-secrets.ts'

/** How many secrets an owner has at most. */
export const MOST_SECRETS = 1000
/** How many bytes their values have together, in UTF-8. */
export const MOST_SECRET_BYTES = 1_048_576

/** What sealing adds to a value. */
const SEAL_BYTES = 33
/** Of how many owners, and their providers, keys are kept at hand. */
const MOST_KEPT = 10_000

export interface SecretParts {
  readonly store: Store
  readonly vault: Vault
  readonly redactor: Redactor
  readonly platform: Platform
  readonly log: Log
  /** What the operator has set for an owner, by name. What the owner sets goes before it. */
  given(owner: Scope): Readonly<Record<string, string>>
  /** Keys of providers of models that the operator has set for all who have none of their own, by name. */
  readonly provider_keys: Readonly<Record<string, string>>
  /** What the service uses which names for. */
  readonly purposes: ReadonlyMap<string, string>
}

export class Secrets {
  readonly #parts: SecretParts
  readonly #former: FormerSecrets
  /** Keys of providers, until any secret changes: each request to a model asks for one. Nobody else writes secrets. */
  readonly #kept = new Map<string, string | null>()

  constructor(parts: SecretParts) {
    this.#parts = parts
    this.#former = new FormerSecrets(parts.redactor)
  }

  /** Makes all that are stored known to the redactor. To be called before anything is served. */
  load(): void {
    const { store, vault, redactor, log } = this.#parts
    let [damaged, secrets] = [0, 0]
    let last: { user_id: string; cipher: Cipher } | null = null
    store.read((tx) => {
      for (const { user_id, workspace, name, body } of eachUserSecret(tx)) {
        const keys: Keys = [user_id, workspace, name]
        // A user's are together: most of the time goes into deriving keys.
        if (last?.user_id !== user_id) last = { user_id, cipher: USER_SECRET.cipher(vault, keys) }
        const value = openedWith(last.cipher, keys, body)
        secrets++
        if (value === null) damaged++
        else redactor.add(value, scopedKey({ user_id, workspace_id: workspace === '' ? null : workspace }))
      }
    })
    if (damaged > 0) log.error({ damaged, secrets }, 'stored secrets cannot be read: they must be set again')
  }

  /** Those that the owner has, and those that the service itself knows, by name. */
  list(owner: Scope): Secret[] {
    const { store, purposes } = this.#parts
    const set = new Map(store.read((tx) => userSecretNames(tx, owner)).map((row) => [row.name, row.updated_at]))
    const names = new Set([...set.keys(), ...Object.keys(this.#parts.given(owner)), ...purposes.keys()])
    return [...names].sort().map((name) => this.#described(owner, name, set.get(name) ?? null))
  }

  get(owner: Scope, name: string): Secret {
    const row = this.#parts.store.read((tx) => userSecret(tx, owner, name))
    return this.#described(owner, name, row?.updated_at ?? null)
  }

  /** Sets one, or another value. @throws CONFLICT where the owner would have too many */
  async put(owner: Scope, name: string, value: string): Promise<Secret> {
    const { store, vault, redactor, platform } = this.#parts
    const keys = keysOf(owner, name)
    const body = USER_SECRET.cipher(vault, keys).seal(Buffer.from(value), sealedContext(keys))
    const row = rowOf(keys, body, platform.timestamp())
    // Nobody reads it before it is hidden everywhere.
    redactor.add(value, scopedKey(owner))
    try {
      const before = await store.write((tx) => {
        const others = otherUserSecrets(tx, owner, name)
        guardBounds(others.count + 1, others.bytes - others.count * SEAL_BYTES + body.length - SEAL_BYTES)
        const present = sealedSecret(tx, owner, name)
        putUserSecret(tx, row)
        return present
      })
      this.#retire(owner, keys, before)
    } catch (error) {
      redactor.forget(value, scopedKey(owner))
      throw error
    }
    return this.#described(owner, name, row.updated_at)
  }

  /** Tells whether there was one: else it has no effect. What the operator has set stays. @throws DATA_DAMAGED where its name or its owner is damaged */
  async delete(owner: Scope, name: string): Promise<boolean> {
    const before = await this.#parts.store.write((tx) => {
      const present = sealedSecret(tx, owner, name) ?? userSecret(tx, owner, name)
      deleteUserSecret(tx, owner, name)
      return present
    })
    this.#retire(owner, keysOf(owner, name), before)
    return before !== undefined
  }

  /** The value of this moment, or null. @throws NodeError `unknown_secret` where it cannot be read any more */
  value(owner: Scope, name: string): string | null {
    const row = this.#row(owner, name)
    if (!row) return own(this.#parts.given(owner), name)
    const value = opened(this.#parts.vault, keysOf(owner, name), row.body)
    if (value !== null) return value
    throw new NodeError(`The secret "${name}" is stored, and cannot be read. Set it again.`, 'unknown_secret')
  }

  /** The same of the key of a provider of models: the owner's own, or else the operator's for all. */
  providerKey(owner: Scope, name: string): string | null {
    const key = scopedKey(owner, name)
    const kept = this.#kept.get(key)
    if (kept !== undefined) return kept
    const value = this.value(owner, name) ?? own(this.#parts.provider_keys, name)
    if (this.#kept.size >= MOST_KEPT) this.#kept.clear()
    this.#kept.set(key, value)
    return value
  }

  #row(owner: Scope, name: string): StoredSecret | undefined {
    return this.#parts.store.read((tx) => sealedSecret(tx, owner, name))
  }

  #described(owner: Scope, name: string, updated_at: string | null): Secret {
    const is_set = updated_at !== null || own(this.#parts.given(owner), name) !== null
    return { name, description: this.#parts.purposes.get(name) ?? '', is_set, updated_at }
  }

  #retire(owner: Scope, keys: Keys, before: StoredSecret | undefined): void {
    this.#kept.clear()
    const value = before ? opened(this.#parts.vault, keys, before.body) : null
    if (value !== null) this.#former.add(owner, value)
  }
}

type Keys = readonly [user_id: string, workspace: string, name: string]

function keysOf({ user_id, workspace_id }: Scope, name: string): Keys {
  return [user_id, workspace_id ?? '', name]
}

function rowOf([user_id, workspace, name]: Keys, body: Uint8Array, updated_at: string): UserSecretTable {
  return { user_id, workspace, name, body, updated_at }
}

/** Null where it was damaged. */
function opened(vault: Vault, keys: Keys, body: Uint8Array): string | null {
  return openedWith(USER_SECRET.cipher(vault, keys), keys, body)
}

function openedWith(cipher: Cipher, keys: Keys, body: Uint8Array): string | null {
  try {
    return Buffer.from(cipher.open(body, sealedContext(keys))).toString()
  } catch (error) {
    if (error instanceof VaultError) return null
    throw error
  }
}

function own(record: Readonly<Record<string, string>>, name: string): string | null {
  return Object.hasOwn(record, name) ? record[name]! : null
}

function guardBounds(count: number, bytes: number): void {
  const too = (message: string) =>
    new ServiceError('CONFLICT', { message: `${message} Delete some that are not used.` })
  if (count > MOST_SECRETS) throw too(`There are ${MOST_SECRETS} secrets, and no more are kept.`)
  if (bytes > MOST_SECRET_BYTES) throw too(`All secrets together may have ${MOST_SECRET_BYTES} bytes.`)
}
