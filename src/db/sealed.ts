// The columns that hold sealed bytes, the ciphers that they are sealed by, and which key that was under. Sealing and opening is left to
// others: here bytes are bytes, of which the second to the fifth are the id of their key.
import type { Cipher, Vault } from '../vault/vault.ts'
import { COVERED, checksumOf, isSound, type Table } from './checksum.ts'
import { metaValue, putMeta } from './meta.ts'
import type { Tables } from './schema.ts'
import type { Statement } from './statement.ts'
import type { Store, Tx } from './store.ts'

/** Values of a primary key. */
export type SealedKeys = readonly (string | number)[]

/** The context in which the bytes of a row are sealed. */
export function sealedContext(keys: SealedKeys): string {
  return keys.join('/')
}

export interface SealedColumn {
  readonly name: string
  /** The cipher of a row. */
  cipher(vault: Vault, keys: SealedKeys): Cipher
  /** Keys of at most `limit` rows that were not sealed under `key_id` (8 hexadecimal characters), in order, after `after`. */
  otherwise(tx: Tx, key_id: string, after: SealedKeys | null, limit: number): SealedKeys[]
  body(tx: Tx, keys: SealedKeys): Uint8Array | null
  put(tx: Tx, keys: SealedKeys, body: Uint8Array): void
  isEmpty(tx: Tx): boolean
}

const JOURNAL = sealedColumn('job_journal', 'body', ['job_key', 'page'], (vault) => vault.cipher('journal'))

/** The values of users' secrets: each user has a key. No name of a secret has a `/`, so that no two rows have the same context. */
export const USER_SECRET = sealedColumn('user_secret', 'body', ['user_id', 'workspace', 'name'], (vault, [user_id]) =>
  vault.userCipher('secret', String(user_id)),
)

/** All of them: `svc secrets rotate` seals anew what stands here. */
export const SEALED: readonly SealedColumn[] = [JOURNAL, USER_SECRET]

function checksumOfValues(table: Table, row: Readonly<Record<string, unknown>>): number {
  const columns = COVERED[table]
  return checksumOf(table, (place) => row[columns[place]!])
}

function sealedColumn<T extends keyof Tables>(
  table: T,
  column: keyof Tables[T] & string,
  keys: readonly (keyof Tables[T] & string)[],
  cipher: SealedColumn['cipher'],
): SealedColumn {
  const key = keys.join(', ')
  const slots = keys.map(() => '?').join(', ')
  const others = (further: string) =>
    rows(`select ${key} from ${table} where ${further} substr(${column}, 2, 4) is not ? order by ${key} limit ?`)
  const [first, next] = [others(''), others(`(${key}) > (${slots}) and`)]
  const select = rows(`select ${column} from ${table} where (${key}) = (${slots})`)
  const whole = rows(`select * from ${table} where (${key}) = (${slots})`)
  const update = rows(`update ${table} set ${column} = ?, checksum = ? where (${key}) = (${slots})`)
  const any = rows(`select 1 from ${table} limit 1`)
  return {
    name: `${table}.${column}`,
    cipher,
    otherwise: (tx, key_id, after, limit) =>
      tx
        .all(after ? next : first, [...(after ?? []), Buffer.from(key_id, 'hex'), limit])
        .map((row) => keys.map((name) => row[name] as string | number)),
    body: (tx, at) => (tx.get(select, at)?.[column] as Uint8Array | undefined) ?? null,
    put: (tx, at, body) => {
      const row = tx.get(whole, at)
      if (row === undefined) return
      // What was damaged before stays so: its checksum is that of another row.
      const checksum = isSound(table, row) ? checksumOfValues(table, { ...row, [column]: body }) : row.checksum
      tx.run(update, [body, checksum, ...at])
    },
    isEmpty: (tx) => tx.get(any, []) === undefined,
  }
}

/** A query that is the same for columns of any table; parameters by position. */
function rows(sql: string): Statement<readonly unknown[], Record<string, unknown>> {
  return { sql, bind: (params) => [...params] }
}

const FINGERPRINT = 'vault_fingerprint'
const NEXT = 'vault_next_fingerprint'

/** The fingerprint of the one key that the sealed columns open with; null where any will do. */
export function sealedUnder(tx: Tx): string | null {
  return SEALED.some((column) => !column.isEmpty(tx)) ? metaValue(tx, FINGERPRINT) : null
}

/** What the database remembers of the key of its sealed columns. */
export class KeyFacts {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  get in_memory(): boolean {
    return this.#store.in_memory
  }

  fingerprint(): string | null {
    return this.#store.read((tx) => metaValue(tx, FINGERPRINT))
  }

  next(): string | null {
    return this.#store.read((tx) => metaValue(tx, NEXT))
  }

  holdsSealed(): boolean {
    return this.#store.read((tx) => SEALED.some((column) => !column.isEmpty(tx)))
  }

  /** From now on everything is, or will be, sealed under the key with this fingerprint. */
  keep(fingerprint: string): Promise<void> {
    return this.#store.write((tx) => {
      putMeta(tx, FINGERPRINT, fingerprint)
      putMeta(tx, NEXT, null)
    })
  }

  /** From now on rows may be sealed under either key. */
  begin(next: string): Promise<void> {
    return this.#store.write((tx) => putMeta(tx, NEXT, next))
  }
}
