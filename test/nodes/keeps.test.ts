// Values that node types declare to release (NodeProperty.keeps) are garbage collected: they do not count in the memory of a run.
// own-process: it collects garbage again and again, which takes long beside the modules of other tests.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { type InputValues, ItemRequest, type OutputValues, STREAM_END } from '../../src/engine/node-api/firing-forms.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { context } from './context.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const COUNT = 60
/** Items per batch. */
const SIZE = 10

/** Makes items without keeping references to them. */
class Items {
  readonly #made: WeakRef<object>[] = []

  next(): object | typeof STREAM_END {
    if (this.#made.length === COUNT) return STREAM_END
    const item = { at: this.#made.length }
    this.#made.push(new WeakRef(item))
    return item
  }

  async alive(): Promise<number> {
    // The target of a WeakRef stays until the turn is over.
    await new Promise(setImmediate)
    gc()
    return this.#made.filter((ref) => ref.deref() !== undefined).length
  }
}

function defaultsOf(type: NodeType): InputValues {
  const inputs = Object.fromEntries(type.properties.map((property) => [property.name, property.default ?? null]))
  return { ...inputs, count: COUNT, times: null, size: SIZE }
}

/** Called with each item, and with STREAM_END at the end of the stream. */
type Step = (item: object | typeof STREAM_END) => void

function operatorSteps(type: NodeType, only: string): Step {
  const operator = type.streamOperator!(defaultsOf(type), context)
  let step: IteratorResult<ItemRequest | OutputValues, unknown> | null = operator.next()
  let others = COUNT
  return (item) => {
    while (step && !step.done) {
      const { value } = step
      const mine = value instanceof ItemRequest && value.input === only
      step = null
      step = value instanceof ItemRequest ? operator.next(mine ? item : others-- > 0 ? 0 : STREAM_END) : operator.next()
      if (mine) return
    }
  }
}

function stepsOf(type: NodeType, property: string): Step {
  if (type.streamOperator) return operatorSteps(type, property)
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

describe('a released value', () => {
  for (const type of builtinRegistry.all()) {
    for (const { name, keeps, type: of } of type.properties) {
      // Only objects can be watched by WeakRef, and numbers need not be.
      if (keeps === undefined || of.type !== 'any') continue
      test(`is collected: ${type.node_type}, ${name}`, async () => {
        const [items, step] = [new Items(), stepsOf(type, name)]
        for (let at = 0; at < COUNT; at++) {
          step(items.next())
          // A separate turn, so that no reference stays on the stack.
          await null
        }
        const alive = await items.alive()
        assert.ok(alive <= MOST[keeps], `${alive} of ${COUNT} items are kept`)
        step(STREAM_END)
      })
    }
  }
})
