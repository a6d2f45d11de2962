// Vectors for tests: a store and its entries.

import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { Store } from '../../src/db/store.ts'
import type { VectorEntry } from '../../src/engine/node-api/services/vectors.ts'
import { VectorStore, type VectorStoreOptions } from '../../src/vectors/vector-store.ts'

export const OWNER: OwnerScope = { user_id: '1', workspace_id: null }
export const never = new AbortController().signal

export function vectorsOf(store: Store, owner = OWNER, more: Partial<VectorStoreOptions> = {}): VectorStore {
  return new VectorStore(owner, { store, platform: { timestamp: () => '2026-01-01T00:00:00.000Z' }, ...more })
}

export function entry(id: string, vector: readonly number[], more: Partial<VectorEntry> = {}): VectorEntry {
  return { id, vector, text: null, metadata: {}, ...more }
}
