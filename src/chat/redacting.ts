// What chat replaces secrets with: each owner's own view of those that the service knows.
import { type Scope, scopedKey, userKey } from '../db/scope.ts'
import { isLight } from '../light-parts.ts'
import type { Redactor } from '../redaction/redactor.ts'
import type { TimeSlices } from '../time-slices.ts'

export interface Redacting {
  of(owner: Scope): Redactor
}

export function redactingWith(redactor: Redactor): Redacting {
  return { of: (owner) => redactor.of(scopedKey(owner)) }
}

/** What is said, without secrets. A long text is looked through in time slices of its user. */
export function redacted<T>(
  { redacting, slices }: { readonly redacting: Redacting; readonly slices: Pick<TimeSlices, 'run'> },
  owner: Scope,
  content: T,
): T | Promise<T> {
  return redactedBy(redacting.of(owner), slices, owner, content)
}

/** As `redacted`, by who has the owner's redactor. */
export function redactedBy<T>(
  redactor: Redactor,
  slices: Pick<TimeSlices, 'run'>,
  owner: Scope,
  content: T,
): T | Promise<T> {
  return isLight(content) ? redactor.value(content) : slices.run(userKey(owner), redactor.valueSteps(content))
}
