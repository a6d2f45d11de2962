// A naive evaluator of the laws, written apart from the engine: it computes each value by asking its sources, one
// index path after the other, all recursive and all at once in memory. Slow, and plain enough to be believed.

export interface RefType {
  properties: { name: string; required: boolean; fallback?: unknown; aggregate?: boolean }[]
  /** Handles of which each item of a firing opens an index. */
  streams: string[]
  /** A firing: `items` are the yielded records, `single` the returned one. An aggregate gets its items as a list. */
  fire(inputs: Record<string, unknown>): { items: Record<string, unknown>[]; single: Record<string, unknown> }
}

export interface RefNode {
  id: string
  type: RefType
  /** Own values of inputs. */
  own: Record<string, unknown>
  /** The name under which an output node publishes its `value`, else null. */
  publishes: string | null
}

export interface RefEdge {
  source: string
  /** Null: the signal of the source's firing. */
  handle: string | null
  target: string
  /** Null: a control edge. */
  input: string | null
}

interface Fired {
  items: Record<string, unknown>[]
  single: Record<string, unknown>
}

type Path = readonly number[]

/** Stands for "this path got nothing". */
const NOTHING = Symbol('nothing')

export interface Reference {
  outputs: Record<string, unknown[]>
  /** How often each node fired. */
  firings: Record<string, number>
}

export class Evaluator {
  readonly #nodes: Map<string, RefNode>
  readonly #edges: readonly RefEdge[]
  readonly #fired = new Map<string, Fired | null>()

  constructor(nodes: readonly RefNode[], edges: readonly RefEdge[]) {
    this.#nodes = new Map(nodes.map((node) => [node.id, node]))
    this.#edges = edges
  }

  evaluate(): Reference {
    const outputs: Record<string, unknown[]> = {}
    const firings: Record<string, number> = {}
    for (const [id, node] of this.#nodes) {
      const fired = this.#paths(this.scope(id)).map((path) => this.#fire(id, path))
      firings[id] = fired.filter((one) => one !== null).length
      if (node.publishes !== null) outputs[node.publishes] = fired.flatMap((one) => (one ? [one.single.value] : []))
    }
    return { outputs, firings }
  }

  /** The nodes that opened the streams in which a node fires. */
  scope(id: string): string[] {
    let longest: string[] = []
    for (const edge of this.#into(id)) {
      const scope = this.#edgeScope(edge)
      const inside = this.#isAggregate(edge) ? scope.slice(0, -1) : scope
      if (inside.length > longest.length) longest = inside
    }
    return longest
  }

  #into(id: string): RefEdge[] {
    return this.#edges.filter((edge) => edge.target === id)
  }

  #isAggregate(edge: RefEdge): boolean {
    const { properties } = this.#nodes.get(edge.target)!.type
    return properties.some((property) => property.name === edge.input && property.aggregate === true)
  }

  #isStream(edge: RefEdge): boolean {
    return edge.handle !== null && this.#nodes.get(edge.source)!.type.streams.includes(edge.handle)
  }

  #edgeScope(edge: RefEdge): string[] {
    const scope = this.scope(edge.source)
    return this.#isStream(edge) ? [...scope, edge.source] : scope
  }

  /** Every index path of a scope, in order. */
  #paths(scope: readonly string[]): Path[] {
    const opener = scope.at(-1)
    if (opener === undefined) return [[]]
    return this.#paths(scope.slice(0, -1)).flatMap((path) => {
      const fired = this.#fire(opener, path)
      return (fired?.items ?? []).map((_item, index) => [...path, index])
    })
  }

  /** The value of an edge for a path that is at least as long as the edge's scope. */
  #token(edge: RefEdge, path: Path): unknown {
    const own = path.slice(0, this.#edgeScope(edge).length)
    if (this.#isStream(edge)) {
      const fired = this.#fire(edge.source, own.slice(0, -1))
      const item = fired?.items[own.at(-1)!]
      return item && edge.handle! in item ? item[edge.handle!] : NOTHING
    }
    const fired = this.#fire(edge.source, own)
    if (!fired) return NOTHING
    if (edge.handle === null) return true
    return edge.handle in fired.single ? fired.single[edge.handle] : NOTHING
  }

  /** One firing, or null where it is skipped. */
  #fire(id: string, path: Path): Fired | null {
    const key = `${id}@${path.join(',')}`
    if (!this.#fired.has(key)) this.#fired.set(key, this.#compute(this.#nodes.get(id)!, path))
    return this.#fired.get(key)!
  }

  #compute(node: RefNode, path: Path): Fired | null {
    const inputs: Record<string, unknown> = {}
    const edges = this.#into(node.id)
    const plain = edges.filter((edge) => !this.#isAggregate(edge))
    const tokens = plain.map((edge) => this.#token(edge, path))
    const collected = this.#collected(
      edges.find((edge) => this.#isAggregate(edge)),
      path,
    )
    if (collected === NOTHING) return null
    if (collected === undefined && plain.length > 0 && tokens.every((token) => token === NOTHING)) return null
    for (const property of node.type.properties) {
      const own = property.name in node.own ? node.own[property.name] : property.fallback
      const at = plain.findIndex((edge) => edge.input === property.name)
      const given = at < 0 ? NOTHING : tokens[at]
      if (property.aggregate) inputs[property.name] = collected
      else if (given !== NOTHING) inputs[property.name] = given
      else if (own === undefined && property.required) return null
      else inputs[property.name] = own ?? null
    }
    if (plain.some((edge, at) => edge.input === null && tokens[at] === NOTHING)) return null
    return node.publishes === null ? node.type.fire(inputs) : { items: [], single: { value: inputs.value } }
  }

  /** All items below a path; NOTHING where their opener was skipped, undefined where the node is no aggregate. */
  #collected(edge: RefEdge | undefined, path: Path): unknown {
    if (!edge) return undefined
    const opener = this.#edgeScope(edge).at(-1)!
    const fired = this.#fire(opener, path)
    if (!fired) return NOTHING
    return fired.items.map((_item, index) => this.#token(edge, [...path, index])).filter((token) => token !== NOTHING)
  }
}
