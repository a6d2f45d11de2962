// The kinds of random graphs as node types of the engine, and the ledger of their firings. Each kind has a
// synchronous, an asynchronous and a slow manner.
import type { InputValues } from '../../src/engine/node-api/firing-forms.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeRegistry, NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { testType, withTypes } from './kit.ts'
import { type Kind, number } from './random-kinds.ts'
import { KINDS } from './random-mixes.ts'
import { CHECKS, rounds, WOVEN } from './random-woven.ts'
import { RefError } from './reference-firing.ts'
import type { RefType } from './reference-shape.ts'

/** Deaf firings ignore a cancel: they wait until the test releases them. */
export type OwnManner = 'sync' | 'async' | 'slow' | 'deaf'
/** Additional manners of durable runs; `random-remembered.ts` has their types. */
export type RememberedManner =
  | 'touching'
  | 'effective'
  | 'unsafe'
  | 'fickle'
  | 'rolling'
  | 'rollingLate'
  | 'waiting'
  | 'calling'
export type Manner = OwnManner | RememberedManner
export const MANNERS: OwnManner[] = ['sync', 'async', 'slow']

/** The ledger of the firings of one run. */
export class Ledger {
  readonly fired = new Map<string, number>()
  /** Firings that have begun and not ended. */
  open = 0
  total = 0
  readonly #deaf = Promise.withResolvers<void>()
  /** Called at the begin of each firing. */
  onFire: (node_id: string) => void = () => {}

  begin(node_id: string): void {
    this.total++
    this.open++
    this.fired.set(node_id, this.count(node_id) + 1)
    this.onFire(node_id)
  }

  end(): void {
    this.open--
  }

  /** How long a firing of a manner takes. */
  async pause(manner: OwnManner, weight: number): Promise<void> {
    if (manner === 'deaf') await this.#deaf.promise
    if (manner !== 'slow') return
    for (let turns = weight % 3; turns > 0; turns--) await new Promise((go) => setImmediate(go))
  }

  /** Releases the deaf firings. */
  release(): void {
    this.#deaf.resolve()
  }

  count(node_id: string): number {
    return this.fired.get(node_id) ?? 0
  }
}

/** An implementation of a kind in the engine; the ledger adds `begin` and `end`. */
type Run = NonNullable<NodeType['run']>
type Fire = RefType['fire']

function told(cause: unknown): unknown {
  return cause instanceof RefError ? new NodeError(cause.message, cause.type) : cause
}

function* syncItems(fire: Fire, inputs: InputValues): Generator<InputValues, InputValues> {
  try {
    return yield* { [Symbol.iterator]: () => fire(inputs) }
  } catch (cause) {
    throw told(cause)
  }
}

function single(fire: Fire, inputs: InputValues): InputValues {
  const { value } = syncItems(fire, inputs).next()
  return value
}

function opener(fire: Fire, manner: OwnManner, ledger: Ledger): Run {
  if (manner === 'sync') {
    return function* (inputs, { node_id }) {
      ledger.begin(node_id)
      try {
        return yield* syncItems(fire, inputs)
      } finally {
        ledger.end()
      }
    }
  }
  return async function* (inputs, { node_id }) {
    ledger.begin(node_id)
    try {
      const items = syncItems(fire, inputs)
      for (let next = items.next(); ; next = items.next()) {
        if (next.done) return next.value
        await ledger.pause(manner, number(Object.values(next.value)[0]))
        yield next.value
      }
    } finally {
      ledger.end()
    }
  }
}

function plainRun(fire: Fire, manner: OwnManner, ledger: Ledger): Run {
  if (manner === 'sync') {
    return (inputs, { node_id }) => {
      ledger.begin(node_id)
      ledger.end()
      return single(fire, inputs)
    }
  }
  return async (inputs, { node_id }) => {
    ledger.begin(node_id)
    try {
      await ledger.pause(manner, number(inputs.a))
      return single(fire, inputs)
    } finally {
      ledger.end()
    }
  }
}

function aggregate(fire: Fire, manner: OwnManner, ledger: Ledger, check: (given: unknown) => void): NodeType['open'] {
  return (inputs, { node_id }) => {
    ledger.begin(node_id)
    ledger.end()
    const items: unknown[] = []
    const push = (given: unknown) => {
      check(given)
      items.push(given)
    }
    const end = () => single(fire, { ...inputs, a: items })
    if (manner === 'sync') return { push, end }
    return {
      push: async (given) => ledger.pause(manner, number(given)).then(() => push(given)),
      end: async () => end(),
    }
  }
}

function weave(name: string, ledger: Ledger): NonNullable<NodeType['streamOperator']> {
  return function* (inputs, { node_id }) {
    ledger.begin(node_id)
    try {
      return yield* WOVEN[name]!(inputs)
    } finally {
      ledger.end()
    }
  }
}

function loop(limit: number, ledger: Ledger): NonNullable<NodeType['loop']> {
  return (inputs, { node_id }) => {
    ledger.begin(node_id)
    ledger.end()
    return rounds(limit, inputs)
  }
}

function behaviour(name: string, kind: Kind, manner: OwnManner, ledger: Ledger): Partial<NodeType> {
  if (name in WOVEN) return { streamOperator: weave(name, ledger) }
  if (kind.properties.some((property) => property.feedback)) return { loop: loop(kind.items!, ledger) }
  if (kind.properties.some((property) => property.whole)) {
    return { open: aggregate(kind.fire, manner, ledger, CHECKS[name] ?? (() => {})) }
  }
  return { run: (kind.streams.length > 0 ? opener : plainRun)(kind.fire, manner, ledger) }
}

/** A kind as a node type with a manner; `called` is the manner in its name. */
export function nodeType(
  name: string,
  kind: Kind,
  manner: OwnManner,
  ledger: Ledger,
  called: Manner = manner,
): NodeType {
  return testType(`${name}.${called}`, {
    properties: kind.properties.map(({ name: of, required, fallback, whole, feedback }) => ({
      name: of,
      type: ANY_TYPE,
      required,
      ...(fallback === undefined ? {} : { default: fallback }),
      ...(whole ? { aggregate: true } : {}),
      ...(feedback ? { feedback: true } : {}),
    })),
    outputs: kind.handles.map((handle) => ({ name: handle, type: ANY_TYPE, stream: kind.streams.includes(handle) })),
    ...behaviour(name, kind, manner, ledger),
  })
}

/** The kinds that are not built in, by name. */
export const OWN_KINDS = Object.entries(KINDS).filter(([, kind]) => kind.built === undefined)

export function registryFor(ledger: Ledger): NodeRegistry {
  const own = OWN_KINDS
  return withTypes(
    ...own.flatMap(([name, kind]) =>
      [...MANNERS, 'deaf' as const].map((manner) => nodeType(name, kind, manner, ledger)),
    ),
  )
}
