// Shortens ids and names in a preflight to the lengths that the contract allows.

import { sha256 } from '../../shared/hashes.ts'
import { truncateText } from '../../shared/text-truncation.ts'

/** Characters that every id of the contract may have. */
const LONGEST = 512
/** Characters of an id that stay beside the ellipsis and the hash. */
const KEPT_CHARACTERS = LONGEST - 1 - 64

/** Shortens a long id to its beginning, `…` and the SHA-256 of the whole, so that different ids stay different. */
export function shortenId(id: string): string {
  return id.length <= LONGEST ? id : `${id.slice(0, KEPT_CHARACTERS).toWellFormed()}…${sha256(id)}`
}

/** Shortens a long name, which then ends in `…`. */
export function shortenName(name: string): string {
  return name.length <= LONGEST ? name : truncateText(name, LONGEST - 1).toWellFormed()
}
