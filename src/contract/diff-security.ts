// The security schemes of a document: how a credential is sent.
import type { Findings } from './difference.ts'
import { withoutWords } from './effective.ts'
import { canonical, mapOf, names } from './json.ts'
import type { Pair } from './place.ts'

/** Compares the schemes by name. That one has gone is told by the operations that took it. */
export function diffSecurity({ documents, findings }: { documents: Pair; findings: Findings }): void {
  const [old, next] = [documents.old, documents.new].map((one) => mapOf(mapOf(one.components).securitySchemes))
  for (const name of names(old!, next!)) {
    const [a, b] = [old![name], next![name]]
    if (a === undefined || b === undefined) continue
    if (canonical(withoutWords(a)) !== canonical(withoutWords(b)))
      findings.add('breaking', 'scheme-changed', `security scheme ${name}`, 'takes its credential in another way')
  }
}
