// Compares the security schemes of two documents, which say how a credential is sent.

import { canonicalJson, mapOf, unionOfKeys } from '../json.ts'
import type { DifferenceCollector } from './differences.ts'
import { withoutDocumentation } from './effective-schema.ts'
import type { DocumentPair } from './position.ts'

/** Compares the schemes by name. The removal of a scheme shows in the operations that accepted it. */
export function diffSecuritySchemes({
  documents,
  findings,
}: {
  documents: DocumentPair
  findings: DifferenceCollector
}): void {
  const [old, next] = [documents.old, documents.new].map((one) => mapOf(mapOf(one.components).securitySchemes))
  for (const name of unionOfKeys(old!, next!)) {
    const [a, b] = [old![name], next![name]]
    if (a === undefined || b === undefined) continue
    if (canonicalJson(withoutDocumentation(a)) !== canonicalJson(withoutDocumentation(b)))
      findings.add('breaking', 'scheme-changed', `security scheme ${name}`, 'takes its credential in another way')
  }
}
