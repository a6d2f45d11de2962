// The laws about a graph before any value is known: scopes, which edges lead to a Catch, and which nodes are always wanted. The evaluator
// computes the values.

export interface RefProperty {
  name: string
  required: boolean
  fallback?: unknown
  /** The input takes a whole stream, which `fire` receives as an iterable. */
  whole?: boolean
  /** The input takes the result of a loop's round. */
  feedback?: boolean
  catches?: boolean
}

export interface RefType {
  properties: RefProperty[]
  /** Handles of which each item of a firing opens an index. */
  streams: string[]
  /** Its streams have no end. */
  endless?: boolean
  /** Whether it may fail. */
  fails?: boolean
  /**
   * A firing: it yields the items of its streams and returns its single outputs. After each item, a loop receives the feedback of that
   * round. Throws RefError if it fails.
   */
  fire(
    inputs: Record<string, unknown>,
  ): Iterator<Record<string, unknown>, Record<string, unknown>, Record<string, unknown>>
}

export interface RefNode {
  id: string
  /** The node type's name in the graph. */
  kind: string
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

export function order(property: RefProperty | undefined): 'plain' | 'whole' | 'feedback' {
  return property?.whole ? 'whole' : property?.feedback ? 'feedback' : 'plain'
}

export class Shape {
  readonly nodes: ReadonlyMap<string, RefNode>
  readonly #into = new Map<string, RefEdge[]>()
  readonly #from = new Map<string, RefEdge[]>()
  readonly #scopes = new Map<string, string[]>()
  /** Nodes from which an edge leads to a Catch. */
  readonly #holding: Set<string>
  readonly #wanted = new Map<string, boolean>()

  constructor(nodes: readonly RefNode[], edges: readonly RefEdge[]) {
    this.nodes = new Map(nodes.map((node) => [node.id, node]))
    for (const { id } of nodes) {
      this.#into.set(id, [])
      this.#from.set(id, [])
    }
    for (const edge of edges) {
      this.#into.get(edge.target)!.push(edge)
      this.#from.get(edge.source)!.push(edge)
    }
    this.#holding = this.#findHolding(edges)
  }

  into(id: string): readonly RefEdge[] {
    return this.#into.get(id)!
  }

  property({ target, input }: RefEdge): RefProperty | undefined {
    return this.nodes.get(target)!.type.properties.find((property) => property.name === input)
  }

  isStream({ source, handle }: RefEdge): boolean {
    return handle !== null && this.nodes.get(source)!.type.streams.includes(handle)
  }

  /** The nodes that opened the streams in which a node fires. */
  scope(id: string): string[] {
    const known = this.#scopes.get(id)
    if (known) return known
    let longest: string[] = []
    for (const edge of this.into(id)) {
      const kind = order(this.property(edge))
      if (kind === 'feedback') continue
      const scope = kind === 'whole' ? this.edgeScope(edge).slice(0, -1) : this.edgeScope(edge)
      if (scope.length > longest.length) longest = scope
    }
    this.#scopes.set(id, longest)
    return longest
  }

  edgeScope(edge: RefEdge): string[] {
    const scope = this.scope(edge.source)
    return this.isStream(edge) ? [...scope, edge.source] : scope
  }

  /** Whether a failure of a node is caught. */
  holds(id: string): boolean {
    return this.#holding.has(id)
  }

  leadsToCatch(edge: RefEdge): boolean {
    return this.property(edge)?.catches === true || this.holds(edge.target)
  }

  /** Whether a node fires at all of its paths, even if stream operators, or aggregates that a failure ends, leave streams unread. */
  wanted(id: string): boolean {
    const known = this.#wanted.get(id)
    if (known !== undefined) return known
    const from = this.#from.get(id)!
    const wanted =
      from.length === 0 ||
      from.some((edge) => {
        const kind = order(this.property(edge))
        const weaves = this.nodes.get(edge.target)!.type.streams.length > 0
        const readToItsEnd = !weaves && !this.holds(edge.target)
        return kind === 'feedback' || ((kind === 'plain' || readToItsEnd) && this.wanted(edge.target))
      })
    this.#wanted.set(id, wanted)
    return wanted
  }

  /** Whether a node has no end of its own: it has an endless stream, or fires inside of one. */
  endless(id: string): boolean {
    return [...this.scope(id), id].some((one) => this.nodes.get(one)!.type.endless === true)
  }

  #findHolding(edges: readonly RefEdge[]): Set<string> {
    const holding = new Set<string>()
    let before = -1
    while (holding.size > before) {
      before = holding.size
      for (const edge of edges) {
        if (this.property(edge)?.catches || holding.has(edge.target)) holding.add(edge.source)
      }
    }
    return holding
  }
}
