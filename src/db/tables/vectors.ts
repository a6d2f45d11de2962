// Tables of vectors.

/** Vectors of one length under one name. `workspace` is '' outside of any. */
export interface VectorIndexTable {
  key: number
  user_id: string
  workspace: string
  name: string
  dimensions: number
  /** The model that made the vectors; null: unknown. */
  model: string | null
  /** The number of entries, and the sum of their `bytes`. */
  count: number
  bytes: number
  created_at: string
  updated_at: string
}

export interface VectorEntryTable {
  key: number
  index_key: number
  id: string
  /** Bytes of the entry's texts and vector. */
  bytes: number
  /** A JSON object. */
  metadata: string
  /** Of length 1: numbers of 32 bits, the lowest byte first. */
  vector: Uint8Array
  text: string | null
}

export interface VectorTables {
  vector_index: VectorIndexTable
  vector_entry: VectorEntryTable
}
