// Values that were replaced or deleted. They go on being hidden, since jobs that run may hold them; a process that starts anew knows them no more.
import { type Scope, scopedKey } from '../db/scope.ts'
import type { Redactor } from '../redaction/redactor.ts'

/** How many characters of an owner's former values are remembered, and how many values. The oldest go first. */
const MOST_CHARACTERS = 1_048_576
const MOST_VALUES = 10_000

interface Former {
  readonly values: Set<string>
  characters: number
}

export class FormerSecrets {
  readonly #redactor: Redactor
  readonly #owners = new Map<string, Former>()

  constructor(redactor: Redactor) {
    this.#redactor = redactor
  }

  /** Takes over a value that the redactor was told of for an owner. */
  add(owner: Scope, value: string): void {
    const key = scopedKey(owner)
    const former = this.#owners.get(key) ?? { values: new Set(), characters: 0 }
    this.#owners.set(key, former)
    // Of a value that is former twice, one stands for both: the later.
    if (former.values.has(value)) this.#drop(key, value)
    former.values.add(value)
    former.characters += value.length
    for (const oldest of former.values) {
      if (former.characters <= MOST_CHARACTERS && former.values.size <= MOST_VALUES) return
      this.#drop(key, oldest)
    }
  }

  #drop(key: string, value: string): void {
    const former = this.#owners.get(key)!
    former.values.delete(value)
    former.characters -= value.length
    this.#redactor.forget(value, key)
  }
}
