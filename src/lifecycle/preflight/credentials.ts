// Whether the secrets that a run needs are there for whoever would run it. Values are looked at here, and go to nobody but a provider's probe.
import type { OwnerScope } from '../../db/owner-scope.ts'
import { NodeError } from '../../engine/node-api/node-error.ts'
import type { RunRequirement } from './requirements.ts'

export interface CredentialSource {
  /** Null where there is none of that name. @throws NodeError where there is one that cannot be read */
  value(owner: OwnerScope, name: string): string | null
}

/** So many secrets are looked for: more than anybody has. */
const MOST_SECRETS = 2_000

/** A value, null where there is none, false where it is stored and cannot be read. */
type SecretState = string | null | false

/** The secrets of one preflight: each is opened once, however many nodes need it. */
export class PreflightCredentials {
  readonly #source: CredentialSource
  readonly #owner: OwnerScope
  readonly #cure: (name: string) => string
  readonly #states = new Map<string, SecretState>()

  /** `cure` says how one that is missing comes to be there. */
  constructor(source: CredentialSource, owner: OwnerScope, cure = (name: string) => `Set the secret ${name}.`) {
    this.#source = source
    this.#owner = owner
    this.#cure = cure
  }

  /** The value, or null where there is none that can be used. */
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
