// The vectors of the run's user.

/** A vector stored under an id, with its text and metadata. */
export interface VectorEntry {
  readonly id: string
  readonly vector: readonly number[]
  readonly text: string | null
  readonly metadata: Readonly<Record<string, unknown>>
}

export interface VectorIndex {
  readonly name: string
  /** The length of all vectors in the index. */
  readonly dimensions: number
  readonly count: number
  /** The model of the vectors, as `provider/name`; null if unknown. */
  readonly model: string | null
  /** RFC 3339, in UTC. */
  readonly created_at: string
  readonly updated_at: string
}

/** Metadata match if each key has the filter's value, or one of its values if it is a list. Of a list in the metadata, one item must match. */
export type VectorFilter = Readonly<Record<string, unknown>>

export interface VectorQuery {
  readonly index: string
  readonly vector: readonly number[]
  /** The model that made the vector; null if unknown. */
  readonly model: string | null
  readonly top_k: number
  /** The lowest score of a match. */
  readonly min_score: number | null
  readonly filter: VectorFilter
  readonly signal: AbortSignal
  /** Reports changes of the bytes of the matches held in memory; the sum is 0 once they have arrived or failed. */
  onBytesHeld?(bytes: number): void
}

export interface VectorMatch {
  readonly id: string
  /** The cosine similarity: 1 for the same direction, −1 for the opposite direction. */
  readonly score: number
  readonly text: string | null
  readonly metadata: Readonly<Record<string, unknown>>
}

/**
 * The vectors of the run's user, in named indexes. All methods throw NodeError `bad_input`, `index_not_found`, `too_large`; and the
 * signal's reason.
 */
export interface VectorAccess {
  /** Null if the index does not exist. */
  info(index: string): Promise<VectorIndex | null>
  /** Sorted by name. */
  list(): Promise<readonly VectorIndex[]>
  /** Creates the index if needed. An entry replaces the entry with its id. After a failure, entries written before it remain. */
  put(index: string, entries: readonly VectorEntry[], model: string | null, signal: AbortSignal): Promise<void>
  /** The nearest first; of equal scores, the oldest. */
  search(query: VectorQuery): Promise<readonly VectorMatch[]>
  /** Removes the entries with these ids, those that match the filter, or with null the whole index. Returns the number of entries removed. */
  remove(index: string, which: readonly string[] | VectorFilter | null, signal: AbortSignal): Promise<number>
}
