// Ids and names in what a preflight tells: no longer than the contract lets them be, however long their writer made them.

import { sha256 } from '../../shared/hashes.ts'
import { truncateText } from '../../shared/text-truncation.ts'

/** Characters, as of every id of the contract. */
const LONGEST = 512
/** What is left of an id beside the mark of the cut and a hash. */
const KEPT_CHARACTERS = LONGEST - 1 - 64

/** A longer one ends in `…` and the SHA-256 of the whole, so that two which differ still do. */
export function shortenId(id: string): string {
  return id.length <= LONGEST ? id : `${id.slice(0, KEPT_CHARACTERS).toWellFormed()}…${sha256(id)}`
}

/** A longer one ends in `…`. */
export function shortenName(name: string): string {
  return name.length <= LONGEST ? name : truncateText(name, LONGEST - 1).toWellFormed()
}
