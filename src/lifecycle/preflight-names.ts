// Ids and names in what a preflight tells: no longer than the contract lets them be, however long their writer made them.

import { sha256 } from '../hashes.ts'
import { cut } from '../short.ts'

/** Characters, as of every id of the contract. */
const LONGEST = 512
/** What is left of an id beside the mark of the cut and a hash. */
const KEPT = LONGEST - 1 - 64

/** A longer one ends in `…` and the SHA-256 of the whole, so that two which differ still do. */
export function shortId(id: string): string {
  return id.length <= LONGEST ? id : `${id.slice(0, KEPT).toWellFormed()}…${sha256(id)}`
}

/** A longer one ends in `…`. */
export function shortName(name: string): string {
  return name.length <= LONGEST ? name : cut(name, LONGEST - 1).toWellFormed()
}
