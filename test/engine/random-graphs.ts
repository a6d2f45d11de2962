// Legal graphs from random recipes: nested streams, stream operators over sibling streams, loops with feedback, nodes that fail and their
// Catches. A step that fits nowhere is skipped.
import fc from 'fast-check'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { graph } from './kit.ts'
import { Choice, encloses, type Place } from './random-choice.ts'
import { type Kind, plain, single } from './random-kinds.ts'
import { KINDS } from './random-mixes.ts'
import { MANNERS, type Manner } from './random-types.ts'
import { order, type RefEdge, type RefNode, Shape } from './reference-shape.ts'

export interface Step {
  kind: string
  manner: Manner
  picks: number[]
  own: number
}

export interface Recipe {
  steps: Step[]
  /** Whether every failure has a Catch. */
  hold: boolean
  /** The published outputs: 0 for all, else some. */
  quiet: number
}

interface OpenLoop {
  id: string
  scope: string[]
  after: ReadonlySet<string>
  until: boolean
}

const CATCH: Step = { kind: 'Catch', manner: 'sync', picks: [0, 0, 0, 0], own: 1 }
const DEEPEST = 3

const PUBLISHER = single([plain('value')], [], (inputs) => inputs)

export class Builder {
  readonly nodes: RefNode[] = []
  readonly edges: RefEdge[] = []
  readonly #mayFail: boolean
  readonly #places: Place[] = []
  readonly #loops = new Set<string>()
  #open: OpenLoop[] = []

  constructor({ steps, hold, quiet }: Recipe) {
    this.#mayFail = steps.some((step) => KINDS[step.kind]?.fails === true)
    this.#add({ kind: 'Source', manner: 'sync', picks: [0, 0, 0, 0], own: 22 })
    for (const step of steps) {
      if (step.kind === 'Close') this.#close(step.picks)
      else if (step.kind === 'Endless') this.#endless(step, hold)
      else this.#add(step)
    }
    while (this.#open.length > 0) this.#close(steps.at(-1)?.picks ?? [0, 0])
    if (hold) this.#catchAll()
    this.#publish(quiet)
  }

  #add(step: Step, from: readonly Place[] = this.#places, apart = false): Place[] {
    const kind = KINDS[step.kind]!
    const id = `n${this.nodes.length}`
    const choice = new Choice(id, kind)
    for (const [at, property] of kind.properties.filter((one) => !one.feedback).entries()) {
      const pick = step.picks[at] ?? 0
      const places = at === 0 ? from : this.#places
      if (!property.required && (apart || pick % 3 === 0)) continue
      const found = choice.connect(property.name, property.whole === true, places, pick, this.#loops)
      if (!found && property.required) return []
    }
    const pick = step.picks[3] ?? 0
    if (pick % 7 === 1 && !apart) choice.connect(null, false, this.#places, pick, this.#loops)
    if (!choice.legal()) return []
    return this.#put(id, kind, step, choice, apart)
  }

  #put(id: string, kind: Kind, step: Step, choice: Choice, apart: boolean): Place[] {
    const opens = kind.streams.length > 0
    if (opens && choice.scope.length >= DEEPEST) return []
    const last = kind.properties.findLast((property) => order(property) === 'plain' && !property.catches)
    const own =
      last && (step.kind === 'Source' || step.own % 2 === 0)
        ? { ...kind.data, [last.name]: step.own }
        : { ...kind.data }
    this.nodes.push({ id, kind: kind.built ?? `${step.kind}.${step.manner}`, type: kind, own, publishes: null })
    this.edges.push(...choice.edges)
    const { after, scope, most } = choice
    const loops = kind.properties.some((property) => property.feedback)
    if (loops) this.#loops.add(id)
    if (loops)
      this.#open.push({ id, scope, after, until: kind.properties.some((property) => property.name === 'until') })
    const ended = loops ? new Set([...after, id]) : after
    const places = [...kind.handles, null].map((handle) =>
      handle !== null && kind.streams.includes(handle)
        ? { node: id, handle, scope: [...scope, id], after, most: most * (kind.items ?? 1) }
        : { node: id, handle, scope, after: ended, most },
    )
    if (!apart) this.#places.push(...places)
    return places
  }

  /** Leads the feedback of the last opened loop back into it. */
  #close(picks: number[]): void {
    const loop = this.#open.pop()
    if (!loop) return
    const scope = [...loop.scope, loop.id]
    const inside = (other: string) => this.#places.some((place) => place.node === other && encloses(scope, place.scope))
    const fitting = this.#places.filter(
      (place) =>
        place.handle !== null &&
        place.scope.length === scope.length &&
        encloses(scope, place.scope) &&
        [...place.after].every((other) => loop.after.has(other) || inside(other)),
    )
    const from = (pick: number) => fitting[fitting.length - 1 - (pick % Math.min(4, fitting.length))]!
    const edge = (place: Place, input: string) => {
      this.edges.push({ source: place.node, handle: place.handle, target: loop.id, input })
    }
    edge(from(picks[0]!), 'next')
    if (loop.until && picks[1]! % 2 === 0) edge(from(picks[1]! >> 1), 'until')
  }

  /** An endless stream that a Take ends downstream. */
  #endless(step: Step, hold: boolean): void {
    const [nodes, edges] = [this.nodes.length, this.edges.length]
    const inner = step.picks.slice(2).map((pick) => (pick % 3 === 0 && this.#mayFail ? 'Fail' : 'Add'))
    let from: Place[] = this.#places
    for (const kind of ['Endless', ...inner]) {
      from = this.#add({ ...step, kind, picks: [step.picks[0]!] }, from, true).filter((place) => place.handle !== null)
    }
    const taken = this.#add({ ...step, kind: 'Take' }, from)
    if (hold && taken.length > 0) this.#add(CATCH, taken)
    if (taken.length > 0) return
    this.nodes.length = nodes
    this.edges.length = edges
  }

  /** Adds a Catch behind every node that might fail without one. */
  #catchAll(): void {
    for (const { id, type } of [...this.nodes]) {
      if (type.fails !== true || new Shape(this.nodes, this.edges).holds(id)) continue
      const place = this.#places.findLast((one) => one.node === id && one.handle !== null)
      if (place) this.#add(CATCH, [place])
    }
  }

  /** Connects outputs of nodes to output nodes of their own. */
  #publish(quiet: number): void {
    for (const [at, { node, handle }] of this.#places.entries()) {
      if (handle === null || (quiet > 0 && (at * 5 + quiet) % 4 > 0)) continue
      const id = `${node}.${handle}`
      this.nodes.push({ id, kind: 'output.Output', type: PUBLISHER, own: {}, publishes: id })
      this.edges.push({ source: node, handle, target: id, input: 'value' })
    }
  }

  graph(): Graph {
    return graph(
      this.nodes.map(({ id, kind, own, publishes }) => ({
        id,
        type: kind,
        data: publishes ? { name: publishes } : own,
      })),
      this.edges.map(({ source, handle, target, input }) => ({
        source,
        sourceHandle: handle,
        target,
        targetHandle: input,
        edge_type: input === null ? 'control' : 'data',
      })),
    )
  }
}

/** Recipes of these kinds; a kind that is listed more than once is more frequent. */
export function recipes(kinds: readonly string[], most = 20, manners: readonly Manner[] = MANNERS) {
  const step = fc.record({
    kind: fc.constantFrom(...kinds),
    manner: fc.constantFrom(...manners),
    picks: fc.array(fc.nat(1000), { minLength: 4, maxLength: 4 }),
    own: fc.nat(30),
  })
  return fc.record({
    steps: fc.array(step, { minLength: 1, maxLength: most, size: 'max' }),
    hold: fc.boolean(),
    quiet: fc.nat(6),
  })
}
