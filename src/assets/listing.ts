// Pages of assets: what a caller filters by, and the cursors between pages.
import type { AssetFilter } from '../db/asset-lists.ts'
import { folded } from '../db/folding.ts'
import type { Scope } from '../db/scope.ts'
import { ServiceError } from '../errors.ts'
import { type Cipher, VaultError } from '../vault/vault.ts'
import { essenceOf } from './content-type.ts'
import { FOLDER } from './record.ts'

export interface ListRequest {
  readonly parent_id?: string | null | undefined
  readonly content_type?: string | null | undefined
  readonly q?: string | null | undefined
  readonly workflow_id?: string | null | undefined
  readonly job_id?: string | null | undefined
  readonly page_size?: number | null | undefined
  readonly cursor?: string | null | undefined
  /** Where the cursor stands in the request, as a JSON pointer; `/query/cursor` if absent. */
  readonly cursor_at?: string
}

/** What stands for the top level, in the place of a folder's id. */
export const ROOT = 'root'

const PAGE = 100
const LARGEST_PAGE = 500

/** How many assets a page holds: the nearest number that may be asked for. */
export function pageSize({ page_size }: ListRequest): number {
  return Math.min(LARGEST_PAGE, Math.max(1, page_size ?? PAGE))
}

export function filterOf({ parent_id, content_type, q, workflow_id, job_id }: ListRequest): AssetFilter {
  const type = content_type ? essenceOf(content_type) : null
  const whole = type !== null && (type.includes('/') || type === FOLDER)
  return {
    folder: parent_id ? (parent_id === ROOT ? '' : parent_id) : null,
    essence: whole ? type : null,
    family: whole ? null : type,
    part: q ? folded(q) : null,
    workflow_id: workflow_id ?? null,
    job_id: job_id ?? null,
  }
}

const KEY_BYTES = 8

/**
 * Where the next page of a list begins. Keys count what all users have, so nobody sees one: a cursor is sealed, for one caller and one filter
 * alone.
 */
export class Cursors {
  readonly #cipher: Cipher

  constructor(cipher: Cipher) {
    this.#cipher = cipher
  }

  /** Of the page below this key. */
  seal(scope: Scope, filter: AssetFilter, key: number): string {
    const bytes = Buffer.alloc(KEY_BYTES)
    bytes.writeDoubleBE(key)
    return Buffer.from(this.#cipher.seal(bytes, contextOf(scope, filter))).toString('base64url')
  }

  /** The key below which a page begins; null for the first page. @throws INVALID_REQUEST for what was not sealed for this list */
  open(scope: Scope, filter: AssetFilter, { cursor, cursor_at }: ListRequest): number | null {
    if (cursor === null || cursor === undefined) return null
    try {
      const bytes = this.#cipher.open(Buffer.from(cursor, 'base64url'), contextOf(scope, filter))
      return Buffer.from(bytes).readDoubleBE()
    } catch (error) {
      if (!(error instanceof VaultError)) throw error
      const path = cursor_at ?? '/query/cursor'
      const problems = [{ path, message: 'is no cursor of this list, with these filters' }]
      throw new ServiceError('INVALID_REQUEST', {
        message: 'The cursor is not one of this list.',
        problems,
        cause: error,
      })
    }
  }
}

function contextOf({ user_id, workspace_id }: Scope, filter: AssetFilter): string {
  const { folder, essence, family, part, workflow_id, job_id } = filter
  return JSON.stringify([user_id, workspace_id, folder, essence, family, part, workflow_id, job_id])
}
