// Reads publications that are complete, unchanged and consistent.
import { findContradictions } from './publication-consistency.ts'
import { type ContractPublication, PublicationError, readPublicationFiles } from './publication-files.ts'

/** Reads a folder, an archive (`.tgz`) or the index of a folder, and checks its parts for contradictions. @throws PublicationError */
export function readPublication(path: string): ContractPublication {
  const publication = readPublicationFiles(path)
  const [contradiction] = findContradictions(publication)
  if (contradiction === undefined) return publication
  throw new PublicationError(`${path} contradicts itself: ${contradiction}`)
}
