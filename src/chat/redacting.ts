// What chat replaces secrets with: each owner's own view of those that the service knows.
import { type Scope, scopedKey } from '../db/scope.ts'
import type { Redactor } from '../redaction/redactor.ts'

export interface Redacting {
  of(owner: Scope): Redactor
}

export function redactingWith(redactor: Redactor): Redacting {
  return { of: (owner) => redactor.of(scopedKey(owner)) }
}
