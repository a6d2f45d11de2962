// What one run remembers by: its journal, the seed of its random numbers, and where it stands in the execution that it is a part of.
// What is remembered of a firing, memo.ts says.
import { dice } from './dice.ts'
import type { Journal, WaitRequest } from './journal.ts'
import { Parking } from './parking.ts'
import type { Path } from './place.ts'
import type { PlanNode } from './plan-parts.ts'

/** Where a called workflow stands: the calling node of the root's graph, and its order among all firings. */
interface Origin {
  readonly node_id: string
  readonly order: readonly number[]
}

interface Parts {
  readonly journal: Journal | null
  readonly parking: Parking | null
  readonly seed: number | null
  /** The name of the run within the execution. */
  readonly scope: string
  readonly origin: Origin | null
}

/** A firing, as its memory knows it. */
export interface Site {
  readonly node: PlanNode
  readonly path: Path
  /** The path as text: `2.0`, or empty. */
  readonly place: string
}

export class Memory {
  readonly #parts: Parts

  constructor(parts: Parts) {
    this.#parts = parts
  }

  get journal(): Journal | null {
    return this.#parts.journal
  }

  get parking(): Parking | null {
    return this.#parts.parking
  }

  /** The random numbers of a firing after so many failed attempts, or null where the run has no seed. */
  dice({ node, place }: Site, failed: number): (() => number) | null {
    const { seed, scope } = this.#parts
    if (seed === null) return null
    const again = failed === 0 ? '' : ` ${failed}`
    return dice(`${seed} ${scope} ${JSON.stringify(node.observed.node_id)} ${place}${again}`)
  }

  /** Lists a firing as one that waits. Gives what takes it away again. */
  park(site: Site, request: WaitRequest, answer: (value: unknown) => boolean): () => void {
    const { journal, parking, origin } = this.#parts
    const { node_id } = site.node.observed
    const firing = journal!.name(node_id, site.place)
    const waiting = { firing, node_id: origin?.node_id ?? node_id, request }
    return parking!.park({ waiting, order: this.#order(site), answer })
  }

  /** The memory of a workflow that a firing calls. */
  within(site: Site, call: number): Memory {
    const { journal, parking, seed, scope, origin } = this.#parts
    const { node_id } = site.node.observed
    return new Memory({
      journal: journal?.within(node_id, site.place, call) ?? null,
      parking,
      seed,
      scope: `${scope}${JSON.stringify(node_id)}${site.place}#${call}/`,
      origin: { node_id: origin?.node_id ?? node_id, order: [...this.#order(site), call] },
    })
  }

  #order({ node, path }: Site): number[] {
    return [...(this.#parts.origin?.order ?? []), node.index, ...(path ?? [])]
  }
}

/** The memory of an execution's root; null where it has neither journal nor seed. */
export function memoryOf(journal: Journal | undefined, seed: number | undefined): Memory | null {
  if (!journal && seed === undefined) return null
  return new Memory({
    journal: journal ?? null,
    parking: journal ? new Parking() : null,
    seed: seed ?? null,
    scope: '',
    origin: null,
  })
}
