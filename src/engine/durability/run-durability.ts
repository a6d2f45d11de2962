// The durability of one run: its journal, the seed of its random numbers, and its position in the execution. firing-record.ts records the
// firings.

import type { PlanNode } from '../compile/plan.ts'
import type { IndexPath } from '../runtime/streams/position.ts'
import type { Journal, WaitRequest } from './journal.ts'
import { seededRandom } from './seeded-random.ts'
import { WaitRegistry } from './wait-registry.ts'

/** The origin of a called workflow: the calling node of the root's graph, and its order among all firings. */
interface CallOrigin {
  readonly node_id: string
  readonly order: readonly number[]
}

interface RunDurabilityOptions {
  readonly journal: Journal | null
  readonly waitRegistry: WaitRegistry | null
  readonly seed: number | null
  /** The name of the run within the execution. */
  readonly scope: string
  readonly origin: CallOrigin | null
}

/** The node and path of a firing. */
export interface FiringSite {
  readonly node: PlanNode
  readonly path: IndexPath
  /** The path as text: `2.0`, or empty. */
  readonly pathText: string
}

export class RunDurability {
  readonly #options: RunDurabilityOptions

  constructor(options: RunDurabilityOptions) {
    this.#options = options
  }

  get journal(): Journal | null {
    return this.#options.journal
  }

  get waitRegistry(): WaitRegistry | null {
    return this.#options.waitRegistry
  }

  /** The random numbers of a firing after `failed` attempts; null if the run has no seed. */
  createRandom({ node, pathText }: FiringSite, failed: number): (() => number) | null {
    const { seed, scope } = this.#options
    if (seed === null) return null
    const again = failed === 0 ? '' : ` ${failed}`
    return seededRandom(`${seed} ${scope} ${JSON.stringify(node.observed.node_id)} ${pathText}${again}`)
  }

  /** Registers a waiting firing; returns a function that removes it. */
  registerWait(site: FiringSite, request: WaitRequest, answer: (value: unknown) => boolean): () => void {
    const { journal, waitRegistry, origin } = this.#options
    const { node_id } = site.node.observed
    const firing = journal!.formatName(node_id, site.pathText)
    const waiting = { firing, node_id: origin?.node_id ?? node_id, request }
    return waitRegistry!.register({ waiting, order: this.#orderOf(site), answer })
  }

  /** The durability of a workflow that a firing calls. */
  forCall(site: FiringSite, call: number): RunDurability {
    const { journal, waitRegistry, seed, scope, origin } = this.#options
    const { node_id } = site.node.observed
    return new RunDurability({
      journal: journal?.forCall(node_id, site.pathText, call) ?? null,
      waitRegistry,
      seed,
      scope: `${scope}${JSON.stringify(node_id)}${site.pathText}#${call}/`,
      origin: { node_id: origin?.node_id ?? node_id, order: [...this.#orderOf(site), call] },
    })
  }

  #orderOf({ node, path }: FiringSite): number[] {
    return [...(this.#options.origin?.order ?? []), node.index, ...(path ?? [])]
  }
}

/** The durability of an execution's root; null without journal and seed. */
export function createRunDurability(journal: Journal | undefined, seed: number | undefined): RunDurability | null {
  if (!journal && seed === undefined) return null
  return new RunDurability({
    journal: journal ?? null,
    waitRegistry: journal ? new WaitRegistry() : null,
    seed: seed ?? null,
    scope: '',
    origin: null,
  })
}
