// The columns with encrypted bytes, their ciphers, and the key under which each row is encrypted. Callers encrypt and decrypt. In the bytes, the
// second to the fifth are the id of the key.
import type { Cipher, Vault } from '../vault/vault.ts'
import { readMetaValue, writeMetaValue } from './database-metadata.ts'
import { CHECKSUM_COLUMNS, computeRowChecksum, isChecksumValid, type TableName } from './integrity/row-checksum.ts'
import type { Tables } from './schema.ts'
import type { Statement } from './statement.ts'
import type { Store, Tx } from './store.ts'

/** Values of a primary key. */
export type SealedRowKey = readonly (string | number)[]

/** The context in which the bytes of a row are encrypted. */
export function rowSealContext(keys: SealedRowKey): string {
  return keys.join('/')
}

export interface SealedColumn {
  readonly name: string
  /** The cipher of a row. */
  cipher(vault: Vault, keys: SealedRowKey): Cipher
  /** The primary keys of at most `limit` rows that are not encrypted under `key_id` (8 hexadecimal characters), in order, after `after`. */
  keysSealedOtherwise(tx: Tx, key_id: string, after: SealedRowKey | null, limit: number): SealedRowKey[]
  body(tx: Tx, keys: SealedRowKey): Uint8Array | null
  put(tx: Tx, keys: SealedRowKey, body: Uint8Array): void
  isEmpty(tx: Tx): boolean
}

const JOURNAL = defineSealedColumn('job_journal', 'body', ['job_key', 'page'], (vault) => vault.cipher('journal'))

/** The values of users' secrets; each user has a key. Names of secrets contain no `/`, so no two rows have the same context. */
export const USER_SECRET_COLUMN = defineSealedColumn(
  'user_secret',
  'body',
  ['user_id', 'workspace', 'name'],
  (vault, [user_id]) => vault.userCipher('secret', String(user_id)),
)

/** All encrypted columns: `svc secrets rotate` re-encrypts them. */
export const SEALED_COLUMNS: readonly SealedColumn[] = [JOURNAL, USER_SECRET_COLUMN]

function checksumOfValues(table: TableName, row: Readonly<Record<string, unknown>>): number {
  const columns = CHECKSUM_COLUMNS[table]
  return computeRowChecksum(table, (place) => row[columns[place]!])
}

function defineSealedColumn<T extends keyof Tables>(
  table: T,
  column: keyof Tables[T] & string,
  keys: readonly (keyof Tables[T] & string)[],
  cipher: SealedColumn['cipher'],
): SealedColumn {
  const key = keys.join(', ')
  const slots = keys.map(() => '?').join(', ')
  const others = (further: string) =>
    rawStatement(
      `select ${key} from ${table} where ${further} substr(${column}, 2, 4) is not ? order by ${key} limit ?`,
    )
  const [first, next] = [others(''), others(`(${key}) > (${slots}) and`)]
  const select = rawStatement(`select ${column} from ${table} where (${key}) = (${slots})`)
  const whole = rawStatement(`select * from ${table} where (${key}) = (${slots})`)
  const update = rawStatement(`update ${table} set ${column} = ?, checksum = ? where (${key}) = (${slots})`)
  const any = rawStatement(`select 1 from ${table} limit 1`)
  return {
    name: `${table}.${column}`,
    cipher,
    keysSealedOtherwise: (tx, key_id, after, limit) =>
      tx
        .all(after ? next : first, [...(after ?? []), Buffer.from(key_id, 'hex'), limit])
        .map((row) => keys.map((name) => row[name] as string | number)),
    body: (tx, at) => (tx.get(select, at)?.[column] as Uint8Array | undefined) ?? null,
    put: (tx, at, body) => {
      const row = tx.get(whole, at)
      if (row === undefined) return
      // A damaged row stays damaged: its checksum is kept.
      const checksum = isChecksumValid(table, row) ? checksumOfValues(table, { ...row, [column]: body }) : row.checksum
      tx.run(update, [body, checksum, ...at])
    },
    isEmpty: (tx) => tx.get(any, []) === undefined,
  }
}

/** A statement for columns of any table, with parameters by position. */
function rawStatement(sql: string): Statement<readonly unknown[], Record<string, unknown>> {
  return { sql, bind: (params) => [...params] }
}

const FINGERPRINT = 'vault_fingerprint'
const NEXT_FINGERPRINT = 'vault_next_fingerprint'

/** The fingerprint of the key that the encrypted columns need; null: any key will do. */
export function readSealKeyFingerprint(tx: Tx): string | null {
  return SEALED_COLUMNS.some((column) => !column.isEmpty(tx)) ? readMetaValue(tx, FINGERPRINT) : null
}

/** The stored fingerprints of the keys of the encrypted columns. */
export class StoredKeyFingerprints {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  get in_memory(): boolean {
    return this.#store.in_memory
  }

  fingerprint(): string | null {
    return this.#store.read((tx) => readMetaValue(tx, FINGERPRINT))
  }

  next(): string | null {
    return this.#store.read((tx) => readMetaValue(tx, NEXT_FINGERPRINT))
  }

  holdsSealed(): boolean {
    return this.#store.read((tx) => SEALED_COLUMNS.some((column) => !column.isEmpty(tx)))
  }

  /** From now on everything is encrypted under the key with this fingerprint. */
  keep(fingerprint: string): Promise<void> {
    return this.#store.write((tx) => {
      writeMetaValue(tx, FINGERPRINT, fingerprint)
      writeMetaValue(tx, NEXT_FINGERPRINT, null)
    })
  }

  /** From now on rows may be encrypted under either key. */
  begin(next: string): Promise<void> {
    return this.#store.write((tx) => writeMetaValue(tx, NEXT_FINGERPRINT, next))
  }
}
