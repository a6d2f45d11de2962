// Checks whether the secrets that a run needs exist for its owner. The values are read here, and go only to the probe of a provider.
import type { OwnerScope } from '../../db/owner-scope.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { RunRequirement } from './requirements.ts'

export interface CredentialSource {
  /** Returns null if there is no secret of that name. @throws NodeError if the secret cannot be read */
  value(owner: OwnerScope, name: string): string | null
}

/** Number of secrets that are looked up; no owner has more. */
const MOST_SECRETS = 2_000

/** The value; null if there is no secret, false if it cannot be read. */
type SecretState = string | null | false

/** The secrets of one preflight. Each is decrypted once, however many nodes need it. */
export class PreflightCredentials {
  readonly #source: CredentialSource
  readonly #owner: OwnerScope
  readonly #cure: (name: string) => string
  readonly #states = new Map<string, SecretState>()

  /** `cure` returns the advice for a missing secret. */
  constructor(source: CredentialSource, owner: OwnerScope, cure = (name: string) => `Set the secret ${name}.`) {
    this.#source = source
    this.#owner = owner
    this.#cure = cure
  }

  /** Returns the value, or null if there is no usable secret. */
  value(name: string): string | null {
    return this.#readOnce(name) || null
  }

  requirement(name: string, details: Record<string, unknown>): RunRequirement {
    if (this.#states.size >= MOST_SECRETS && !this.#states.has(name)) return omittedSecretsRequirement()
    const seen = this.#readOnce(name)
    const common = { kind: 'credential', id: name, name: `Secret ${name}`, blocking: true, details } as const
    if (seen === null) return { ...common, status: 'missing', message: this.#cure(name) }
    if (seen === false) {
      return { ...common, status: 'unavailable', message: `The secret ${name} cannot be read any more. Set it again.` }
    }
    return { ...common, status: 'available', message: null }
  }

  #readOnce(name: string): SecretState {
    let seen = this.#states.get(name)
    if (seen === undefined) {
      seen = this.#open(name)
      this.#states.set(name, seen)
    }
    return seen
  }

  #open(name: string): SecretState {
    try {
      return this.#source.value(this.#owner, name)
    } catch (error) {
      if (error instanceof NodeError) return false
      throw error
    }
  }
}

function omittedSecretsRequirement(): RunRequirement {
  const message = `The run needs more than ${MOST_SECRETS} secrets: the others were not looked for.`
  return { kind: 'credential', id: 'others', name: 'Further secrets', status: 'unknown', blocking: true, message }
}
