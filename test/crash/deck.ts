// Chooses the next job and its transport. Every kind comes up in a random order.
import type { KindName } from './graphs.ts'
import { type Door, type Ledger, TrackedJob } from './ledger.ts'
import type { Random } from './random.ts'
import { plan, SHARES } from './work.ts'

export class Deck {
  readonly #ledger: Ledger
  readonly #random: Random
  readonly #kinds: readonly KindName[]
  #left: KindName[] = []

  constructor(ledger: Ledger, random: Random, kinds: readonly KindName[]) {
    this.#ledger = ledger
    this.#random = random
    this.#kinds = kinds.flatMap((kind) => Array<KindName>(SHARES[kind]).fill(kind))
  }

  /** Adds a new job to the ledger. */
  draw(): TrackedJob {
    if (this.#left.length === 0) this.#left = [...this.#kinds]
    const [kind] = this.#left.splice(this.#random.int(0, this.#left.length - 1), 1)
    return this.make(kind!)
  }

  /** `through`: the transport. Absent: any transport that supports the kind. */
  make(kind: KindName, through?: Door): TrackedJob {
    const label = this.#ledger.newLabel()
    const random = this.#random.fork(label)
    const work = plan(kind, label, this.#ledger.counter.host, random)
    const job = new TrackedJob(work, through ?? door(kind, random), random)
    this.#ledger.track(job)
    return job
  }
}

function door(kind: KindName, random: Random): Door {
  if (kind === 'fed') return 'socket'
  if ((kind === 'fast' || kind === 'reading') && random.chance(0.3)) return 'run'
  return random.chance(0.5) ? 'socket' : 'http'
}
