// Compares two publications of the contract: what the newer one means for who goes by the older one.
import { diffCatalogues } from './diff-catalogue.ts'
import { diffHttp } from './diff-http.ts'
import { diffSockets } from './diff-sockets.ts'
import { type Difference, Findings } from './difference.ts'
import type { Publication } from './files.ts'
import type { Pair } from './place.ts'

/** All differences, the worst first. Words for people are none. */
export function diffPublications(old: Publication, next: Publication): Difference[] {
  const findings = new Findings()
  compare(old, next, 'openapi.json', findings, diffHttp)
  // What was compared in one document stands for its own references alone.
  findings.seen.clear()
  compare(old, next, 'asyncapi.json', findings, diffSockets)
  diffCatalogues(old, next, findings)
  return findings.sorted
}

function compare(
  old: Publication,
  next: Publication,
  name: string,
  findings: Findings,
  diff: (documents: Pair, findings: Findings) => void,
): void {
  const documents = { old: old.json(name), new: next.json(name) }
  if (documents.old !== documents.new) diff(documents, findings)
}
