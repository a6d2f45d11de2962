// What chat replaces secrets with: each owner's own view of those that the service knows.
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

/** What is said, without secrets. A long text is looked through in time slices of its user. */
export function redactForOwner<T>(
  { redacting, slices }: { readonly redacting: OwnerRedactors; readonly slices: Pick<TimeSliceScheduler, 'run'> },
  owner: OwnerScope,
  content: T,
): T | Promise<T> {
  return redactWith(redacting.of(owner), slices, owner, content)
}

/** As `redacted`, by who has the owner's redactor. */
export function redactWith<T>(
  redactor: Redactor,
  slices: Pick<TimeSliceScheduler, 'run'>,
  owner: OwnerScope,
  content: T,
): T | Promise<T> {
  return isSmallValue(content) ? redactor.value(content) : slices.run(userShareKey(owner), redactor.valueSteps(content))
}
