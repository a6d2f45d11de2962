// A naive evaluator of the laws, written independently of the engine: it computes each value from its sources, one index path after the
// other, recursively and all in memory. It is slow, but simple enough to be trusted.
import { Firing, NEVER, NOTHING, RefError, Travelling } from './reference-firing.ts'
import { order, type RefEdge, type RefNode, Shape } from './reference-shape.ts'

type Values = Record<string, unknown>
type Path = readonly number[]

/** The index of a firing's current item in its stream; null before the first and after the last. */
interface Reading {
  at: number | null
}

export interface Tally {
  /** Firings that ran to their end or failed by themselves. */
  fired: number
  /** Firings of aggregates, stream operators and loops that a failure from outside ended. */
  interrupted: number
  /** Caught failures. */
  held: number
  /** Uncaught failures. */
  unheld: number
}

export interface Reference {
  outputs: Record<string, unknown[]>
  /** Counts that are certain, by node. */
  certain: Record<string, Tally>
  /** The largest possible counts, if a stream operator leaves a stream unread; null: no limit. */
  most: Record<string, Tally | null>
}

export class Evaluator {
  readonly shape: Shape
  readonly #firings = new Map<string, Firing | null | typeof NEVER>()
  readonly #tallies: Record<string, Tally> = {}

  constructor(nodes: readonly RefNode[], edges: readonly RefEdge[]) {
    this.shape = new Shape(nodes, edges)
    for (const { id } of nodes) this.#tallies[id] = { fired: 0, interrupted: 0, held: 0, unheld: 0 }
  }

  evaluate(): Reference {
    const { nodes } = this.shape
    const outputs: Record<string, unknown[]> = {}
    for (const node of nodes.values()) {
      if (!this.shape.wanted(node.id)) continue
      const values = this.#exhaust(node.id)
      if (node.publishes !== null) outputs[node.publishes] = values
    }
    const certain = structuredClone(this.#tallies)
    const endless = [...nodes.keys()].filter((id) => this.shape.endless(id))
    for (const id of nodes.keys()) if (!this.shape.wanted(id) && !endless.includes(id)) this.#exhaust(id)
    const most: Reference['most'] = structuredClone(this.#tallies)
    for (const id of endless) most[id] = null
    return { outputs, certain, most }
  }

  /** Runs all firings of a node to their ends; returns their `value` inputs. */
  #exhaust(id: string): unknown[] {
    const values: unknown[] = []
    for (const path of this.#paths(this.shape.scope(id))) {
      try {
        const single = this.#fire(id, path)?.single()
        if (single && !(single instanceof Travelling)) values.push(single.value)
      } catch (cause) {
        if (cause !== NEVER) throw cause
      }
    }
    return values
  }

  /** Every index path of a scope, in order. */
  *#paths(scope: readonly string[]): Generator<Path> {
    const opener = scope.at(-1)
    if (opener === undefined) return yield []
    for (const path of this.#paths(scope.slice(0, -1))) {
      try {
        const firing = this.#fire(opener, path)
        for (let at = 0; firing?.item(at) !== undefined; at++) yield [...path, at]
      } catch (cause) {
        if (cause !== NEVER) throw cause
      }
    }
  }

  /** The value of an edge for a path that is at least as long as the edge's scope. */
  #token(edge: RefEdge, path: Path): unknown {
    const own = path.slice(0, this.shape.edgeScope(edge).length)
    const stream = this.shape.isStream(edge)
    const firing = this.#fire(edge.source, stream ? own.slice(0, -1) : own)
    const values = stream ? firing?.item(own.at(-1)!) : firing?.single()
    if (values instanceof Travelling) return this.shape.leadsToCatch(edge) ? values : NOTHING
    if (!values) return NOTHING
    if (edge.handle === null) return true
    return edge.handle in values ? values[edge.handle] : NOTHING
  }

  /** One firing, or null if it is skipped. */
  #fire(id: string, path: Path): Firing | null {
    const key = `${id}@${path.join(',')}`
    if (!this.#firings.has(key)) {
      try {
        this.#firings.set(key, this.#begin(this.shape.nodes.get(id)!, path))
      } catch (cause) {
        if (cause !== NEVER) throw cause
        this.#firings.set(key, NEVER)
      }
    }
    const firing = this.#firings.get(key)!
    if (firing === NEVER) throw NEVER
    return firing
  }

  #begin(node: RefNode, path: Path): Firing | null {
    const edges = this.shape.into(node.id)
    const plain = edges.filter((edge) => order(this.shape.property(edge)) === 'plain')
    const streams = edges.filter((edge) => order(this.shape.property(edge)) === 'whole')
    const tokens = plain.map((edge) => this.#token(edge, path))
    const passed = tokens.find((token, at) => token instanceof Travelling && !this.shape.property(plain[at]!)?.catches)
    if (passed !== undefined) return this.#passing(passed as Travelling)
    if (streams.some((edge) => this.#fire(this.shape.edgeScope(edge).at(-1)!, path) === null)) return null
    if (streams.length === 0 && plain.length > 0 && tokens.every((token) => token === NOTHING)) return null
    const inputs = this.#inputs(node, new Map(plain.map((edge, at) => [edge.input, tokens[at]])))
    if (!inputs || plain.some((edge, at) => edge.input === null && tokens[at] === NOTHING)) return null
    const reading: Reading = { at: null }
    for (const edge of streams) inputs[edge.input!] = this.#read(edge, path, reading)
    const gathers = node.type.streams.length === 0
    return new Firing(
      () => {
        this.#tallies[node.id]!.fired++
        return node.type.fire(inputs)
      },
      (round) => this.#back(node.id, [...path, round]),
      (cause) => this.#failed(node, cause, gathers && reading.at !== null ? [...path, reading.at] : path),
    )
  }

  /** A node that received a failure passes it on in each of its outputs. */
  #passing(failure: Travelling): Firing {
    const pass = () => {
      throw failure
    }
    return new Firing(
      pass,
      () => ({}),
      () => failure,
    )
  }

  /** The inputs of a firing; null if a required one is missing. */
  #inputs({ type, own }: RefNode, tokens: ReadonlyMap<string | null, unknown>): Values | null {
    const inputs: Values = {}
    for (const property of type.properties) {
      if (order(property) !== 'plain') continue
      const { name, fallback, required } = property
      const given = tokens.has(name) ? tokens.get(name) : NOTHING
      const instead = name in own ? own[name] : fallback
      if (given === NOTHING && instead === undefined && required) return null
      inputs[name] = given === NOTHING ? (instead ?? null) : given
    }
    return inputs
  }

  /** The items below a path, without those that have no value. */
  *#read(edge: RefEdge, path: Path, reading: Reading): Generator<unknown> {
    const firing = this.#fire(this.shape.edgeScope(edge).at(-1)!, path)!
    for (let at = 0; firing.item(at) !== undefined; at++) {
      const token = this.#token(edge, [...path, at])
      if (token instanceof Travelling) throw token
      reading.at = at
      if (token !== NOTHING) yield token
    }
    reading.at = null
  }

  /** The feedback of a loop's round. */
  #back(id: string, path: Path): Values {
    const back: Values = {}
    for (const edge of this.shape.into(id)) {
      if (order(this.shape.property(edge)) !== 'feedback') continue
      const token = this.#token(edge, path)
      if (token instanceof Travelling) throw token
      if (token !== NOTHING) back[edge.input!] = token
    }
    return back
  }

  #failed({ id, kind }: RefNode, cause: unknown, path: Path): Travelling | typeof NEVER {
    const tally = this.#tallies[id]!
    if (cause instanceof RefError) {
      const held = this.shape.holds(id)
      tally[held ? 'held' : 'unheld']++
      const message = path.length > 0 ? `${cause.message} (at index ${path.join('.')})` : cause.message
      return held ? new Travelling({ node_id: id, node_type: kind, type: cause.type, message }) : NEVER
    }
    if (cause !== NEVER && !(cause instanceof Travelling)) throw cause
    tally.fired--
    tally.interrupted++
    return cause
  }
}
