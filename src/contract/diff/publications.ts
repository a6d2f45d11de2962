// Compares two publications of the contract: the effect of the newer one on users of the older one.

import type { ContractPublication } from '../publication-files.ts'
import { diffCatalogues } from './catalogues.ts'
import { type Difference, DifferenceCollector } from './differences.ts'
import { diffHttpOperations } from './http-operations.ts'
import type { DocumentPair } from './position.ts'
import { diffSocketChannels } from './socket-channels.ts'

/** Returns all differences, the worst first. Changes of documentation are no difference. */
export function diffPublications(old: ContractPublication, next: ContractPublication): Difference[] {
  const findings = new DifferenceCollector()
  compareDocuments(old, next, 'openapi.json', findings, diffHttpOperations)
  // Compared positions are references within one document.
  findings.comparedPositions.clear()
  compareDocuments(old, next, 'asyncapi.json', findings, diffSocketChannels)
  diffCatalogues(old, next, findings)
  return findings.sorted
}

function compareDocuments(
  old: ContractPublication,
  next: ContractPublication,
  name: string,
  findings: DifferenceCollector,
  diff: (documents: DocumentPair, findings: DifferenceCollector) => void,
): void {
  const documents = { old: old.json(name), new: next.json(name) }
  if (documents.old !== documents.new) diff(documents, findings)
}
