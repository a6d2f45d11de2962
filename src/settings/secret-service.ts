// SecretService stores the secrets of users encrypted, gives them to the nodes of their owner by name, and never shows them. The redactor
// knows every value, from the start of the process or from the moment the value is set.
import type { Secret } from '../../generated/types.ts'
import { type Catalogue, runStatements } from '../db/catalogue.ts'
import { type OwnerScope, ownerScopeKey } from '../db/owner-scope.ts'
import { rowSealContext, USER_SECRET_COLUMN } from '../db/sealed-columns.ts'
import type { Store } from '../db/store.ts'
import type { UserSecretTable } from '../db/tables/users.ts'
import {
  deleteUserSecret,
  findUserSecret,
  findUserSecretOrDamaged,
  listSecretOwners,
  listUserSecretNames,
  listUserSecrets,
  measureOtherUserSecrets,
  putUserSecret,
  type StoredUserSecret,
} from '../db/user-secrets.ts'
import { NodeError } from '../engine/node-api/node-error.ts'
import { ServiceError } from '../errors.ts'
import type { Log } from '../log.ts'
import type { Platform } from '../platform.ts'
import type { Redactor } from '../redaction/redactor.ts'
import { type Cipher, type Vault, VaultError } from '../vault/vault.ts'
import { FormerSecrets } from './former-secrets.ts'

/** Number of secrets that an owner may have. */
export const MOST_SECRETS = 1000
/** Bytes of UTF-8 that the values of an owner may have together. */
export const MOST_SECRET_BYTES = 1_048_576

/** Bytes that sealing adds to a value. */
const SEAL_BYTES = 33
/** Number of cached provider keys, counted by owner and name. */
const MOST_CACHED_KEYS = 10_000

export interface SecretServiceParts {
  readonly catalogue: Catalogue
  /** Values are read at once: preflights and calls of models cannot wait for them yet. */
  readonly store: Store
  readonly vault: Vault
  readonly redactor: Redactor
  readonly platform: Platform
  readonly log: Log
  /** Returns the secrets that the operator set for an owner, by name. The owner's own secrets take precedence. */
  operatorSecrets(owner: OwnerScope): Readonly<Record<string, string>>
  /** Keys of model providers that the operator set for all owners without a key of their own, by name. */
  readonly provider_keys: Readonly<Record<string, string>>
  /** Describes by name what the service uses a secret for. */
  readonly purposes: ReadonlyMap<string, string>
}

export class SecretService {
  readonly #parts: SecretServiceParts
  readonly #formerSecrets: FormerSecrets
  /** Provider keys, cached until any secret changes, because each request to a model needs one. Only this service writes secrets. */
  readonly #providerKeys = new Map<string, string | null>()

  constructor(parts: SecretServiceParts) {
    this.#parts = parts
    this.#formerSecrets = new FormerSecrets(parts.redactor)
  }

  /** Adds all stored secrets to the redactor. Must be called before anything is served. */
  async load(): Promise<void> {
    const { catalogue, vault, redactor, log } = this.#parts
    let [damaged, secrets] = [0, 0]
    let last = null as { user_id: string; cipher: Cipher } | null
    for (const owner of await catalogue.read(listSecretOwners)) {
      const { user_id, workspace } = owner
      for (const { name, body } of await catalogue.read(() => listUserSecrets(owner))) {
        const keys: SecretKey = [user_id, workspace, name]
        // The workspaces of a user are adjacent, so each key is derived once: that takes most of the time.
        if (last?.user_id !== user_id) last = { user_id, cipher: USER_SECRET_COLUMN.cipher(vault, keys) }
        const value = openWithCipher(last.cipher, keys, body)
        secrets++
        if (value === null) damaged++
        else redactor.add(value, ownerScopeKey({ user_id, workspace_id: workspace === '' ? null : workspace }))
      }
    }
    if (damaged > 0) log.error({ damaged, secrets }, 'stored secrets cannot be read: they must be set again')
  }

  /** Lists the secrets of the owner, and the names that the service knows, by name. */
  async list(owner: OwnerScope): Promise<Secret[]> {
    const { catalogue, purposes } = this.#parts
    const rows = await catalogue.read(() => listUserSecretNames(owner))
    const set = new Map(rows.map((row) => [row.name, row.updated_at]))
    const names = new Set([...set.keys(), ...Object.keys(this.#parts.operatorSecrets(owner)), ...purposes.keys()])
    return [...names].sort().map((name) => this.#toRecord(owner, name, set.get(name) ?? null))
  }

  async get(owner: OwnerScope, name: string): Promise<Secret> {
    const row = await this.#parts.catalogue.read(() => findUserSecret(owner, name))
    return this.#toRecord(owner, name, row?.updated_at ?? null)
  }

  /** Sets or replaces a secret. @throws CONFLICT if the owner would have too many */
  async put(owner: OwnerScope, name: string, value: string): Promise<Secret> {
    const { catalogue, vault, redactor, platform } = this.#parts
    const keys = secretKeyOf(owner, name)
    const body = USER_SECRET_COLUMN.cipher(vault, keys).seal(Buffer.from(value), rowSealContext(keys))
    const row = toRow(keys, body, platform.timestamp())
    // The value has to be redacted everywhere before it can be read.
    redactor.add(value, ownerScopeKey(owner))
    try {
      const before = await catalogue.write(function* () {
        const others = yield* measureOtherUserSecrets(owner, name)
        requireWithinBounds(others.count + 1, others.bytes - others.count * SEAL_BYTES + body.length - SEAL_BYTES)
        const present = yield* findUserSecretOrDamaged(owner, name)
        yield* putUserSecret(row)
        return present
      })
      this.#retire(owner, keys, before)
    } catch (error) {
      redactor.remove(value, ownerScopeKey(owner))
      throw error
    }
    return this.#toRecord(owner, name, row.updated_at)
  }

  /**
   * Deletes a secret and returns whether it existed. A secret of the operator stays.
   * @throws DATA_DAMAGED if the name or the owner of the row is damaged
   */
  async delete(owner: OwnerScope, name: string): Promise<boolean> {
    const before = await this.#parts.catalogue.write(function* () {
      const present = (yield* findUserSecretOrDamaged(owner, name)) ?? (yield* findUserSecret(owner, name))
      yield* deleteUserSecret(owner, name)
      return present
    })
    this.#retire(owner, secretKeyOf(owner, name), before)
    return before !== undefined
  }

  /** Returns the present value, or null. @throws NodeError `unknown_secret` if it cannot be read any more */
  value(owner: OwnerScope, name: string): string | null {
    const row = this.#findRow(owner, name)
    if (!row) return ownProperty(this.#parts.operatorSecrets(owner), name)
    const value = openSecret(this.#parts.vault, secretKeyOf(owner, name), row.body)
    if (value !== null) return value
    throw new NodeError(`The stored secret "${name}" cannot be read. Set it again.`, 'unknown_secret')
  }

  /** Returns the key of a model provider: the owner's own, or else the operator's for all. */
  providerKey(owner: OwnerScope, name: string): string | null {
    const key = ownerScopeKey(owner, name)
    const kept = this.#providerKeys.get(key)
    if (kept !== undefined) return kept
    const value = this.value(owner, name) ?? ownProperty(this.#parts.provider_keys, name)
    if (this.#providerKeys.size >= MOST_CACHED_KEYS) this.#providerKeys.clear()
    this.#providerKeys.set(key, value)
    return value
  }

  #findRow(owner: OwnerScope, name: string): StoredUserSecret | undefined {
    return this.#parts.store.read((tx) => runStatements(tx, findUserSecretOrDamaged(owner, name)))
  }

  #toRecord(owner: OwnerScope, name: string, updated_at: string | null): Secret {
    const is_set = updated_at !== null || ownProperty(this.#parts.operatorSecrets(owner), name) !== null
    return { name, description: this.#parts.purposes.get(name) ?? '', is_set, updated_at }
  }

  #retire(owner: OwnerScope, keys: SecretKey, before: StoredUserSecret | undefined): void {
    this.#providerKeys.clear()
    const value = before ? openSecret(this.#parts.vault, keys, before.body) : null
    if (value !== null) this.#formerSecrets.add(owner, value)
  }
}

type SecretKey = readonly [user_id: string, workspace: string, name: string]

function secretKeyOf({ user_id, workspace_id }: OwnerScope, name: string): SecretKey {
  return [user_id, workspace_id ?? '', name]
}

function toRow([user_id, workspace, name]: SecretKey, body: Uint8Array, updated_at: string): UserSecretTable {
  return { user_id, workspace, name, body, updated_at }
}

/** Returns null if the secret is damaged. */
function openSecret(vault: Vault, keys: SecretKey, body: Uint8Array): string | null {
  return openWithCipher(USER_SECRET_COLUMN.cipher(vault, keys), keys, body)
}

function openWithCipher(cipher: Cipher, keys: SecretKey, body: Uint8Array): string | null {
  try {
    return Buffer.from(cipher.open(body, rowSealContext(keys))).toString()
  } catch (error) {
    if (error instanceof VaultError) return null
    throw error
  }
}

function ownProperty(record: Readonly<Record<string, string>>, name: string): string | null {
  return Object.hasOwn(record, name) ? record[name]! : null
}

function requireWithinBounds(count: number, bytes: number): void {
  const too = (message: string) =>
    new ServiceError('CONFLICT', { message: `${message} Delete some that are not used.` })
  if (count > MOST_SECRETS) throw too(`At most ${MOST_SECRETS} secrets can be stored.`)
  if (bytes > MOST_SECRET_BYTES) throw too(`All secrets together may have at most ${MOST_SECRET_BYTES} bytes.`)
}
