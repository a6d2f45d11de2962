// The leftovers of 10,000 runs of a graph with all features: no listener, no timer, no generator, no memory.
// own-process: it collects garbage again and again, which takes long beside the modules of other tests.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import { ANY_TYPE } from '../../src/engine/node-api/values/type-metadata.ts'
import { executePlan } from '../../src/engine/runtime/execution.ts'
import { silentObserver } from '../../src/engine/runtime/run/observer.ts'
import { atRealSize } from '../helpers/scale.ts'
import { graph, HandClock, item, node, output, planOf, sink, source, testType, until, value, withTypes } from './kit.ts'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

/** A clock on which short sleeps end at once and long ones never. */
class QuickClock extends HandClock {
  override sleep(ms: number, signal: AbortSignal): Promise<void> {
    return ms < 1000 ? Promise.resolve() : super.sleep(ms, signal)
  }
}

/** Counts the listeners of a signal. */
function counted(signal: AbortSignal): { listeners: number } {
  const count = { listeners: 0 }
  const add = signal.addEventListener.bind(signal)
  const remove = signal.removeEventListener.bind(signal)
  signal.addEventListener = (...args: Parameters<typeof add>) => {
    count.listeners++
    add(...args)
  }
  signal.removeEventListener = (...args: Parameters<typeof remove>) => {
    count.listeners--
    remove(...args)
  }
  return count
}

/** Created once, as a stack takes time. */
const [ODD, EARLY] = [new NodeError('odd'), new NodeError('not yet')]

class Leftovers {
  generators = 0
  #attempts = 0

  types(): NodeType[] {
    return [
      testType('test.Endless', { properties: [value], outputs: [item], run: () => this.#endless() }),
      testType('test.Soon', {
        properties: [value],
        outputs: [output],
        run: async (inputs) => ({ output: inputs.value }),
      }),
      testType('test.Odd', {
        properties: [value],
        outputs: [output],
        run: (inputs) => this.#odd(Number(inputs.value)),
      }),
      testType('test.Shaky', {
        properties: [value],
        outputs: [{ name: 'output', type: ANY_TYPE }],
        run: async (inputs) => this.#shaky(inputs.value),
      }),
    ]
  }

  async *#endless() {
    this.generators++
    try {
      for (let at = 0; ; at++) yield { item: at }
    } finally {
      this.generators--
    }
  }

  #odd(given: number) {
    if (given % 2 === 1) throw ODD
    return { output: given }
  }

  /** Fails every other time. */
  #shaky(given: unknown) {
    if (this.#attempts++ % 2 === 0) throw EARLY
    return { output: given }
  }
}

const everything = graph(
  [
    source('in', [1, 2]),
    node('each', 'control.ForEach'),
    node('soon', 'test.Soon', { timeout_seconds: 60 }),
    node('wait', 'control.Delay', { seconds: 0.5 }),
    node('shaky', 'test.Shaky', { retry: { attempts: 3, backoff_ms: 5 } }),
    node('odd', 'test.Odd'),
    node('held', 'control.Catch'),
    node('endless', 'test.Endless'),
    node('zip', 'control.Zip'),
    node('loop', 'control.Loop', { times: 2 }),
    node('again', 'test.Soon'),
    sink('out'),
    sink('errors'),
    sink('rounds'),
  ],
  [
    'in.output->each.list',
    'each.item->soon.value',
    'soon.output->wait.value',
    'wait.output->shaky.value',
    'shaky.output->odd.value',
    'odd.output->held.value',
    'in.output->endless.value',
    'endless.item->zip.a',
    'held.value->zip.b',
    'zip.pair->out.value',
    'held.error->errors.value',
    'in.output->loop.initial',
    'loop.value->again.value',
    'again.output->loop.next',
    'loop.rounds->rounds.value',
  ],
)

/** Five stretches of runs. Returns the bytes by which the heap grew in each stretch after the first. */
async function growthOfRuns(times: number): Promise<number[]> {
  const clock = new QuickClock()
  const abort = new AbortController()
  const count = counted(abort.signal)
  const leftovers = new Leftovers()
  const plan = planOf(everything, withTypes(...leftovers.types()))
  const options = { params: {}, signal: abort.signal, observer: silentObserver, clock, inboxLimit: 2 }
  const expected = {
    out: [[0, 2]],
    errors: [{ node_id: 'odd', node_type: 'test.Odd', type: 'node_error', message: 'odd (at index 0)' }],
  }
  const stretch = async () => {
    for (let left = times; left > 0; left--) {
      const outcome = await executePlan(plan, options).done
      if (left === times) assert.deepEqual(outcome, { status: 'completed', outputs: { ...expected, rounds: [2] } })
    }
    await until(() => leftovers.generators === 0, 'the generators to end')
    for (let round = 0; round < 3; round++) {
      await new Promise((done) => setTimeout(done, 10))
      collectGarbage()
    }
    return process.memoryUsage().heapUsed
  }
  const heap = [await stretch(), await stretch(), await stretch(), await stretch(), await stretch()]
  assert.equal(count.listeners, 0)
  assert.equal(clock.sleepers.size, 0)
  return heap.slice(1).map((bytes, at) => bytes - heap[at]!)
}

describe('law 35: a settled run leaves nothing', () => {
  test('runs of a graph with everything in it leave no listener, timer or generator', async () => {
    await growthOfRuns(50)
  })

  test('10,000 of these runs leave no memory', { skip: atRealSize }, async () => {
    const grown = await growthOfRuns(2_000)
    // A leak of every run shows in each stretch; memory that the compiler keeps or frees once shows in one.
    const usual = grown.toSorted((a, b) => a - b)[1] ?? 0
    assert.ok(usual < 0.4e6, `stretches of 2,000 runs made the heap grow by ${grown.join(', ')} bytes`)
  })
})
