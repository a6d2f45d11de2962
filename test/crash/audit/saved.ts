// Checks the assets that a job saves: the requested one exactly once after all interruptions, and no other.

import { sha256 } from '../../../src/shared/hashes.ts'
import { answerTo } from '../counter.ts'
import { type Evidence, type Fault, fault, type Judge } from '../evidence.ts'
import { largeOf } from '../large.ts'

export const judgeSaved: Judge = function* (evidence) {
  const { work, saved, snapshot } = evidence
  if (!work) return
  if (work.kind !== 'saving') {
    if (saved.length > 0) yield fault(evidence, 'contradiction', 'it keeps an asset, which nothing asks for')
    return
  }
  const due = sha256(largeOf(answerTo('GET', `/${work.label}/big/0`)))
  for (const { sha256, found } of saved)
    if (sha256 !== due || found !== due) yield fault(evidence, 'loss', `its asset ${sha256} is ${found}`)
  if (saved.length > 1) yield fault(evidence, 'double', `it keeps ${saved.length} assets`)
  if (snapshot?.status === 'completed') yield* kept(evidence)
}

/** A retry keeps the asset that the job before it has saved. */
function* kept(evidence: Evidence): Iterable<Fault> {
  for (let one: Evidence | null = evidence; one; one = one.retry_of) if (one.saved.length > 0) return
  if (!evidence.shadowed) yield fault(evidence, 'loss', 'it completed, and its asset is gone')
}
