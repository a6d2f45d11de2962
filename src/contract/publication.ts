// Reads publications that others may go by: whole, unchanged, and of one mind.
import { contradictions } from './agreement.ts'
import { type Publication, PublicationError, readFiles } from './files.ts'

/** Reads a folder, an archive (`.tgz`) or the index of a folder, whose parts have to agree. @throws PublicationError */
export function readPublication(path: string): Publication {
  const publication = readFiles(path)
  const [contradiction] = contradictions(publication)
  if (contradiction === undefined) return publication
  throw new PublicationError(`${path} contradicts itself: ${contradiction}`)
}
