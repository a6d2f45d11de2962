// Chooses connections for the inputs of one node of a random graph, so that the graph stays legal.
import type { Kind } from './random-kinds.ts'
import type { RefEdge } from './reference-shape.ts'

const MOST_ITEMS = 80

/** A possible start of an edge. */
export interface Place {
  node: string
  handle: string | null
  scope: string[]
  /** Loops that have ended when a value comes from here: it must not lead back into their rounds. */
  after: ReadonlySet<string>
  /** The largest number of items that may come from here. */
  most: number
}

export function encloses(outer: string[], inner: string[]): boolean {
  return outer.length <= inner.length && outer.every((opener, at) => opener === inner[at])
}

/** The inputs of one step, chosen one after the other. */
export class Choice {
  scope: string[] = []
  readonly edges: RefEdge[] = []
  readonly after = new Set<string>()
  most = 1
  readonly #id: string
  readonly #weaves: boolean
  #sides: string[] | null = null

  constructor(id: string, kind: Kind) {
    this.#id = id
    this.#weaves = kind.properties.some((property) => property.whole)
  }

  #fits(place: Place, whole: boolean): boolean {
    if (!whole) return encloses(place.scope, this.scope) || (!this.#weaves && encloses(this.scope, place.scope))
    const outer = place.scope.slice(0, -1)
    return place.scope.length > 0 && (this.#sides === null || outer.join() === this.#sides.join())
  }

  connect(input: string | null, whole: boolean, places: readonly Place[], pick: number, loops: Set<string>): boolean {
    const fitting = places.filter((place) => (input === null || place.handle !== null) && this.#fits(place, whole))
    const place = fitting[pick % Math.max(1, fitting.length)]
    if (!place) return false
    const scope = whole ? place.scope.slice(0, -1) : place.scope
    if (whole) this.#sides = scope
    if (scope.length > this.scope.length) this.scope = scope
    this.most = whole && this.edges.length > 0 ? this.most * place.most : Math.max(this.most, place.most)
    for (const loop of place.after) this.after.add(loop)
    if (whole && loops.has(place.scope.at(-1)!)) this.after.add(place.scope.at(-1)!)
    this.edges.push({ source: place.node, handle: place.handle, target: this.#id, input })
    return true
  }

  /** No node inside a round may wait for the end of its loop, and no graph gets too big. */
  legal(): boolean {
    return this.scope.every((opener) => !this.after.has(opener)) && this.most <= MOST_ITEMS
  }
}
