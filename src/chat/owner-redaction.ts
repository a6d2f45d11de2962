// Gives chat the redactor of each owner.
import { type OwnerScope, ownerScopeKey, userShareKey } from '../db/owner-scope.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { TimeSliceScheduler } from '../shared/time-slices.ts'
import { isSmallValue } from '../shared/value-size.ts'

export interface OwnerRedactors {
  of(owner: OwnerScope): Redactor
}

export function createOwnerRedactors(redactor: Redactor): OwnerRedactors {
  return { of: (owner) => redactor.forOwner(ownerScopeKey(owner)) }
}

/** Redacts content. A long text is redacted in time slices of its user. */
export function redactForOwner<T>(
  { redacting, slices }: { readonly redacting: OwnerRedactors; readonly slices: Pick<TimeSliceScheduler, 'run'> },
  owner: OwnerScope,
  content: T,
): T | Promise<T> {
  return redactWith(redacting.of(owner), slices, owner, content)
}

/** Like `redactForOwner`, for callers that have the owner's redactor. */
export function redactWith<T>(
  redactor: Redactor,
  slices: Pick<TimeSliceScheduler, 'run'>,
  owner: OwnerScope,
  content: T,
): T | Promise<T> {
  return isSmallValue(content) ? redactor.value(content) : slices.run(userShareKey(owner), redactor.valueSteps(content))
}
