// Reads publications that others may go by: whole, unchanged, and of one mind.
import { findContradictions } from './publication-consistency.ts'
import { type ContractPublication, PublicationError, readPublicationFiles } from './publication-files.ts'

/** Reads a folder, an archive (`.tgz`) or the index of a folder, whose parts have to agree. @throws PublicationError */
export function readPublication(path: string): ContractPublication {
  const publication = readPublicationFiles(path)
  const [contradiction] = findContradictions(publication)
  if (contradiction === undefined) return publication
  throw new PublicationError(`${path} contradicts itself: ${contradiction}`)
}
