// Values that were replaced or deleted. They go on being hidden, since jobs that run may hold them; a process that starts anew knows them no more.
import { type OwnerScope, ownerScopeKey } from '../db/owner-scope.ts'
import type { Redactor } from '../redaction/redactor.ts'

export interface FormerSecretBounds {
  readonly characters: number
  readonly values: number
  /** In how many forms the values are looked for, together: each takes about a kilobyte, and a value of many lines has hundreds. */
  readonly forms: number
}

/** How much is remembered of one owner's former values. The oldest go first. */
const OWNER_BOUNDS: FormerSecretBounds = { characters: 1_048_576, values: 10_000, forms: 80_000 }
/** How much of those of all owners, where there are more than some dozens who replace as many as they may. */
const TOTAL_BOUNDS: FormerSecretBounds = { characters: 67_108_864, values: 50_000, forms: 400_000 }

/** So many go in one turn of the event loop: each takes up to half a millisecond, and a long value may take the room of thousands of short ones. */
const DROPPED_AT_ONCE = 8

interface FormerSecret {
  readonly owner: string
  readonly value: string
  readonly forms: number
}

/** Some former values, in the order in which they became so. */
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

  /** The oldest, where there are more than the bounds allow. */
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
  /** Who may have more than the bounds of one allow. */
  readonly #ownersToCheck = new Set<string>()
  #isDropping = false

  constructor(redactor: Redactor, bounds = TOTAL_BOUNDS) {
    this.#redactor = redactor
    this.#bounds = bounds
  }

  /** Of how many owners values are remembered. */
  get owners(): number {
    return this.#owners.size
  }

  /** Takes over a value that the redactor was told of for an owner. */
  add(scope: OwnerScope, value: string): void {
    const owner = ownerScopeKey(scope)
    const { formers, byValue } = this.#owners.get(owner) ?? { formers: new FormerSecretList(), byValue: new Map() }
    this.#owners.set(owner, { formers, byValue })
    // Of a value that is former twice, one stands for both: the later.
    const before = byValue.get(value)
    const former = { owner, value, forms: this.#redactor.countForms(value) }
    formers.add(former)
    this.#all.add(former)
    if (before) this.#drop(before)
    byValue.set(value, former)
    this.#ownersToCheck.add(owner)
    this.#dropSome()
  }

  /** The oldest beyond the bounds; the rest of them in the turns that follow. */
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
