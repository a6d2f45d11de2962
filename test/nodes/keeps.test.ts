// What node types say that they let go of (NodeProperty.keeps) is let go of: it does not count among what a run holds.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import {
  type InputValues,
  ItemRequest,
  type NodeType,
  type OutputValues,
  STREAM_END,
} from '../../src/engine/node-api/node-type.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { context } from './context.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const COUNT = 60
/** Batches of so many items. */
const SIZE = 10

/** Makes items that are held by nothing here. */
class Items {
  readonly #made: WeakRef<object>[] = []

  next(): object | typeof STREAM_END {
    if (this.#made.length === COUNT) return STREAM_END
    const item = { at: this.#made.length }
    this.#made.push(new WeakRef(item))
    return item
  }

  async alive(): Promise<number> {
    // What a WeakRef was made for stays until the turn is over.
    await new Promise(setImmediate)
    gc()
    return this.#made.filter((ref) => ref.deref() !== undefined).length
  }
}

function defaultsOf(type: NodeType): InputValues {
  const inputs = Object.fromEntries(type.properties.map((property) => [property.name, property.default ?? null]))
  return { ...inputs, count: COUNT, times: null, size: SIZE }
}

/** Takes the step that gives the next item, or wants one. */
type Step = (item: object | typeof STREAM_END) => void

function weaving(type: NodeType, only: string): Step {
  const weave = type.streamOperator!(defaultsOf(type), context)
  let step: IteratorResult<ItemRequest | OutputValues, unknown> | null = weave.next()
  let others = COUNT
  return (item) => {
    while (step && !step.done) {
      const { value } = step
      const mine = value instanceof ItemRequest && value.input === only
      step = null
      step = value instanceof ItemRequest ? weave.next(mine ? item : others-- > 0 ? 0 : STREAM_END) : weave.next()
      if (mine) return
    }
  }
}

function stepsOf(type: NodeType, property: string): Step {
  if (type.streamOperator) return weaving(type, property)
  if (type.open) {
    const aggregate = type.open(defaultsOf(type), context)
    return (item) => {
      if (item !== STREAM_END) void aggregate.push(item)
    }
  }
  const rounds = type.loop!(defaultsOf(type), context)
  rounds.first()
  return (item) => {
    if (item !== STREAM_END) rounds.next({ [property]: item })
  }
}

const MOST = { last: 2, since_item: SIZE } as const

describe('what is let go of', () => {
  for (const type of builtinRegistry.all()) {
    for (const { name, keeps, type: of } of type.properties) {
      // Only what may be an object can be watched; a number is no matter.
      if (keeps === undefined || of.type !== 'any') continue
      test(`by ${type.node_type}, of ${name}`, async () => {
        const [items, step] = [new Items(), stepsOf(type, name)]
        for (let at = 0; at < COUNT; at++) {
          step(items.next())
          // A turn of its own: nothing of it stays on the stack.
          await null
        }
        const alive = await items.alive()
        assert.ok(alive <= MOST[keeps], `${alive} of ${COUNT} items are kept`)
        step(STREAM_END)
      })
    }
  }
})
