// Encrypted cursors, each for one caller and one list. Keys would reveal the number of all users' rows, and names may hold secrets.

import { ServiceError } from '../errors.ts'
import { type Cipher, VaultError } from '../vault/vault.ts'
import type { OwnerScope } from './owner-scope.ts'

/** The name of a list, and its filters. */
export type CursorListName = readonly (string | null)[]

const KEY_BYTES = 8

/** The JSON pointer of the cursor in an HTTP request. */
const CURSOR_POINTER = '/query/cursor'

export class SealedCursors {
  readonly #cipher: Cipher

  constructor(cipher: Cipher) {
    this.#cipher = cipher
  }

  /** The cursor of the page below this key. */
  seal(scope: OwnerScope, list: CursorListName, key: number): string {
    const bytes = Buffer.alloc(KEY_BYTES)
    bytes.writeDoubleBE(key)
    return this.#seal(scope, list, bytes)
  }

  /** The cursor of the page behind these texts. */
  sealTexts(scope: OwnerScope, list: CursorListName, texts: readonly string[]): string {
    return this.#seal(scope, list, Buffer.from(JSON.stringify(texts)))
  }

  #seal(scope: OwnerScope, list: CursorListName, bytes: Uint8Array): string {
    return Buffer.from(this.#cipher.seal(bytes, sealContext(scope, list))).toString('base64url')
  }

  /**
   * The key below which a page begins; null for the first page. `pointer` is the JSON pointer of the cursor in the request.
   * @throws INVALID_REQUEST for a cursor that was not sealed for this list
   */
  open(
    scope: OwnerScope,
    list: CursorListName,
    cursor: string | null | undefined,
    pointer = CURSOR_POINTER,
  ): number | null {
    return this.#open(scope, list, cursor, pointer)?.readDoubleBE() ?? null
  }

  /** As `open`, for a cursor of texts. */
  openTexts(scope: OwnerScope, list: CursorListName, cursor: string | null | undefined): string[] | null {
    const bytes = this.#open(scope, list, cursor, CURSOR_POINTER)
    return bytes && (JSON.parse(bytes.toString()) as string[])
  }

  #open(scope: OwnerScope, list: CursorListName, cursor: string | null | undefined, pointer: string): Buffer | null {
    if (cursor === null || cursor === undefined) return null
    try {
      return Buffer.from(this.#cipher.open(Buffer.from(cursor, 'base64url'), sealContext(scope, list)))
    } catch (cause) {
      if (!(cause instanceof VaultError)) throw cause
      const problems = [{ path: pointer, message: 'is not a cursor of this list with these filters' }]
      throw new ServiceError('INVALID_REQUEST', { message: 'The cursor is not one of this list.', problems, cause })
    }
  }
}

function sealContext({ user_id, workspace_id }: OwnerScope, list: CursorListName): string {
  return JSON.stringify([user_id, workspace_id, ...list])
}
