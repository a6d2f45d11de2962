// The key under which a graph is stored, and its compiled form cached. It has the owner, so that neither the time of a request nor what it writes tells
// whether another owner has the same graph.
import { sha256 } from '../shared/hashes.ts'

/** Stands for all owners: bundled examples, which everybody can read. */
export const BUNDLED = 'bundled'

/** Hexadecimal characters of the mark of an owner: ids of users may be long, and hold any character. */
const OWNER_MARK_LENGTH = 32

/** `owner`: the key of fair shares. `digest`: the SHA-256 of the graph's text. Keys of graphs that older versions stored are digests alone. */
export function graphKey(owner: string, digest: string): string {
  return `${digest}-${sha256(owner).slice(0, OWNER_MARK_LENGTH)}`
}
