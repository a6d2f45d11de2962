// FormerSecrets keeps replaced and deleted secrets redacted, because running jobs may still hold them. A new process does not know them any
// more.
import { type OwnerScope, ownerScopeKey } from '../db/owner-scope.ts'
import type { Redactor } from '../redaction/redactor.ts'

export interface FormerSecretBounds {
  readonly characters: number
  readonly values: number
  /** Number of forms in which the values are searched for. Each takes about a kilobyte, and a value of many lines has hundreds. */
  readonly forms: number
}

/** Limits for one owner's former values. The oldest are dropped first. */
const OWNER_BOUNDS: FormerSecretBounds = { characters: 1_048_576, values: 10_000, forms: 80_000 }
/** Limits for all owners together, which matter if more than some dozens of owners replace as many values as they may. */
const TOTAL_BOUNDS: FormerSecretBounds = { characters: 67_108_864, values: 50_000, forms: 400_000 }

/**
 * Values that are dropped in one turn of the event loop. Each takes up to half a millisecond, and one long value may displace thousands of
 * short ones.
 */
const DROPPED_AT_ONCE = 8

interface FormerSecret {
  readonly owner: string
  readonly value: string
  readonly forms: number
}

/** Former values in the order in which they were replaced. */
class FormerSecretList {
  readonly #list = new Set<FormerSecret>()
  #characters = 0
  #forms = 0

  get size(): number {
    return this.#list.size
  }

  add(former: FormerSecret): void {
    this.#list.add(former)
    this.#characters += former.value.length
    this.#forms += former.forms
  }

  delete(former: FormerSecret): void {
    if (!this.#list.delete(former)) return
    this.#characters -= former.value.length
    this.#forms -= former.forms
  }

  /** Returns the oldest value if the list exceeds the bounds. */
  surplus({ characters, values, forms }: FormerSecretBounds): FormerSecret | undefined {
    if (this.#characters <= characters && this.#list.size <= values && this.#forms <= forms) return undefined
    return this.#list.values().next().value
  }
}

export class FormerSecrets {
  readonly #redactor: Redactor
  readonly #bounds: FormerSecretBounds
  readonly #all = new FormerSecretList()
  readonly #owners = new Map<string, { formers: FormerSecretList; byValue: Map<string, FormerSecret> }>()
  /** The owners whose values may exceed the bounds. */
  readonly #ownersToCheck = new Set<string>()
  #isDropping = false

  constructor(redactor: Redactor, bounds = TOTAL_BOUNDS) {
    this.#redactor = redactor
    this.#bounds = bounds
  }

  /** Number of owners with former values. */
  get owners(): number {
    return this.#owners.size
  }

  /** Adds a value that the redactor already hides for an owner. */
  add(scope: OwnerScope, value: string): void {
    const owner = ownerScopeKey(scope)
    const { formers, byValue } = this.#owners.get(owner) ?? { formers: new FormerSecretList(), byValue: new Map() }
    this.#owners.set(owner, { formers, byValue })
    // If a value was replaced twice, only the later entry stays.
    const before = byValue.get(value)
    const former = { owner, value, forms: this.#redactor.countForms(value) }
    formers.add(former)
    this.#all.add(former)
    if (before) this.#drop(before)
    byValue.set(value, former)
    this.#ownersToCheck.add(owner)
    this.#dropSome()
  }

  /** Drops the oldest values beyond the bounds; the rest follow in later turns. */
  #dropSome(): void {
    for (let left = DROPPED_AT_ONCE; left > 0; left--) {
      const old = this.#surplus()
      if (!old) return
      this.#drop(old)
    }
    if (this.#isDropping) return
    this.#isDropping = true
    setImmediate(() => {
      this.#isDropping = false
      this.#dropSome()
    })
  }

  #surplus(): FormerSecret | undefined {
    for (const owner of this.#ownersToCheck) {
      const old = this.#owners.get(owner)?.formers.surplus(OWNER_BOUNDS)
      if (old) return old
      this.#ownersToCheck.delete(owner)
    }
    return this.#all.surplus(this.#bounds)
  }

  #drop(former: FormerSecret): void {
    const { owner, value } = former
    const { formers, byValue } = this.#owners.get(owner)!
    formers.delete(former)
    this.#all.delete(former)
    byValue.delete(value)
    if (formers.size === 0) this.#owners.delete(owner)
    this.#redactor.remove(value, owner)
  }
}
