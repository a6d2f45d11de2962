// Cursors of lists in the order of their keys. Keys count what all users have, so nobody sees one: a cursor is sealed, for one caller and one list alone.
import type { Scope } from './db/scope.ts'
import { ServiceError } from './errors.ts'
import { type Cipher, VaultError } from './vault/vault.ts'

/** The name of a list, and what it is filtered by. */
export type ListName = readonly (string | null)[]

const KEY_BYTES = 8

/** Where a cursor stands in a request over HTTP. */
const AT = '/query/cursor'

export class SealedCursors {
  readonly #cipher: Cipher

  constructor(cipher: Cipher) {
    this.#cipher = cipher
  }

  /** Of the page below this key. */
  seal(scope: Scope, list: ListName, key: number): string {
    const bytes = Buffer.alloc(KEY_BYTES)
    bytes.writeDoubleBE(key)
    return Buffer.from(this.#cipher.seal(bytes, contextOf(scope, list))).toString('base64url')
  }

  /**
   * The key below which a page begins; null for the first page. `pointer` is that of the cursor in the request.
   * @throws INVALID_REQUEST for what was not sealed for this list
   */
  open(scope: Scope, list: ListName, cursor: string | null | undefined, pointer = AT): number | null {
    if (cursor === null || cursor === undefined) return null
    try {
      const bytes = this.#cipher.open(Buffer.from(cursor, 'base64url'), contextOf(scope, list))
      return Buffer.from(bytes).readDoubleBE()
    } catch (cause) {
      if (!(cause instanceof VaultError)) throw cause
      const problems = [{ path: pointer, message: 'is no cursor of this list, with these filters' }]
      throw new ServiceError('INVALID_REQUEST', { message: 'The cursor is not one of this list.', problems, cause })
    }
  }
}

function contextOf({ user_id, workspace_id }: Scope, list: ListName): string {
  return JSON.stringify([user_id, workspace_id, ...list])
}
