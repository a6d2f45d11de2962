// Lists the vector indexes of all users for administrators, in pages. The API calls them collections.
import type { Collection, CollectionList } from '../../generated/types.ts'
import { type OwnerScope, ownerScopeKey } from '../db/owner-scope.ts'
import type { SealedCursors } from '../db/sealed-cursors.ts'
import type { Store } from '../db/store.ts'
import type { VectorIndexTable } from '../db/tables/vectors.ts'
import { countVectorIndexes, listAllVectorIndexes } from '../db/vectors.ts'
import type { Redactor } from '../redaction/redactor.ts'

const PAGE_SIZE = 100
const CURSOR_LIST = ['collections']

export interface CollectionListParts {
  readonly store: Store
  readonly cursors: SealedCursors
  readonly redactor: Redactor
}

export interface CollectionRequest {
  readonly limit?: number | null | undefined
  readonly cursor?: string | null | undefined
}

/** Sorted by name, user and workspace. Names and models are shown without the secrets of their owner. @throws INVALID_REQUEST for an invalid cursor */
export function listCollections(
  { store, cursors, redactor }: CollectionListParts,
  caller: OwnerScope,
  { limit, cursor }: CollectionRequest,
): CollectionList {
  const wanted = limit ?? PAGE_SIZE
  const position = cursors.openTexts(caller, CURSOR_LIST, cursor)
  const after = position && { name: position[0]!, user_id: position[1]!, workspace: position[2]! }
  const { rows, count } = store.read((tx) => ({
    rows: listAllVectorIndexes(tx, after, wanted + 1),
    count: countVectorIndexes(tx),
  }))
  const page = rows.slice(0, wanted)
  const last = page.at(-1)
  const more = rows.length > wanted && last !== undefined
  const next = more ? cursors.sealTexts(caller, CURSOR_LIST, [last.name, last.user_id, last.workspace]) : null
  return { collections: page.map((row) => toCollection(row, redactor)), count, next }
}

/** An index may be older than the secret that its name holds. */
function toCollection(row: VectorIndexTable, redactor: Redactor): Collection {
  const { name, user_id, workspace, count, dimensions, model, created_at, updated_at } = row
  const workspace_id = workspace === '' ? null : workspace
  const own = redactor.forOwner(ownerScopeKey({ user_id, workspace_id }))
  return {
    name: own.text(name),
    user_id,
    workspace_id,
    count,
    dimensions: count === 0 ? null : dimensions,
    embedding_model: model && own.text(model),
    metadata: {},
    created_at,
    updated_at,
  }
}
