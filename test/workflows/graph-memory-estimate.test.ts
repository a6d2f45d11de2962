// Tests the memory of large graphs: it is estimated, and counted as long as a holder exists.
// own-process: it collects garbage again and again, which takes long beside the modules of other tests.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import { saveGraph } from '../../src/db/graphs.ts'
import { Store } from '../../src/db/store.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { FairMemoryAccount } from '../../src/payloads/fair-memory-account.ts'
import { runToCompletion, TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import { estimateGraphMemorySteps } from '../../src/workflows/graph-memory-estimate.ts'
import { PlanCache } from '../../src/workflows/plan-cache.ts'

const MIB = 1_048_576

/** A graph of nodes in a row, each with a text of its own. Graphs with different numbers differ. */
function chainOf(count: number, number = 0, text = ''): Graph {
  const nodes = Array.from({ length: count }, (_, at) => ({
    id: `n${number}_${at}`,
    type: 'text.Trim',
    data: { text },
  }))
  const edges = nodes.slice(1).map(({ id }, at) => {
    return { source: `n${number}_${at}`, sourceHandle: 'output', target: id, targetHandle: 'text' }
  })
  return { nodes, edges }
}

/** Counts the taken bytes of an account with room for all. */
class Counted extends FairMemoryAccount {
  bytes = 0
  override async take(owner: string, bytes: number, refusal?: string): Promise<() => void> {
    const release = await super.take(owner, bytes, refusal)
    this.bytes += bytes
    return () => {
      release()
      this.bytes -= bytes
    }
  }
  override change(owner: string, bytes: number): boolean {
    const changed = super.change(owner, bytes)
    if (changed) this.bytes += bytes
    return changed
  }
}

async function withPlans(
  room: FairMemoryAccount,
  work: (plans: PlanCache, store: Store) => Promise<void>,
): Promise<void> {
  await using store = await Store.open(':memory:')
  await work(new PlanCache(store, builtinRegistry, new TimeSliceScheduler(), room), store)
}

describe('the estimated memory of a graph', () => {
  test('is derived from its text only', () => {
    const nodes = [{ id: 'a', type: 'constant.List', data: { value: Array.from({ length: 100_000 }, () => ({})) } }]
    const [many, chain] = [JSON.stringify({ nodes, edges: [] }), JSON.stringify(chainOf(3_000))]
    const text = JSON.stringify({ edges: [], nodes: [{ ...nodes[0], data: { value: '"nodes":[{'.repeat(100_000) } }] })
    const [objects, compiled, letters] = [many, chain, text].map(
      (body) => runToCompletion(estimateGraphMemorySteps(body)).retained_bytes,
    )
    assert.ok(objects! > 6_400_000 && objects! < 9_000_000, String(objects))
    assert.ok(compiled! > 3_000 * 2_300 && compiled! < 3_000 * 3_500, String(compiled))
    assert.ok(letters! < 4.1 * text.length, String(letters))
  })

  test('is about the heap that it and the nodes of its run take', () => {
    const args = ['--expose-gc', new URL('graph-memory-main.ts', import.meta.url).pathname]
    const lines = execFileSync(process.execPath, args, { encoding: 'utf8' }).trim().split('\n')
    assert.equal(lines.length, 5)
    for (const line of lines) {
      const [what, estimate, used] = line.split('\t')
      const ratio = Number(estimate) / Number(used)
      assert.ok(ratio > 0.8 && ratio < 3, `${what}: ${estimate} for ${used}`)
    }
  })

  test('covers small graphs as well, of which many jobs may wait', () => {
    const { retained_bytes } = runToCompletion(estimateGraphMemorySteps(JSON.stringify(chainOf(10))))
    assert.ok(retained_bytes > 10 * 2_200 && retained_bytes < 10 * 4_000, String(retained_bytes))
  })
})

describe('the room for large graphs', () => {
  test('is taken while one is compiled, kept with it, and given back when it is pushed out', async () => {
    const room = new Counted(1_000 * MIB)
    await withPlans(room, async (plans) => {
      const taken: number[] = []
      for (let number = 0; number < 4; number++) {
        const graph = chainOf(3_000, number)
        const preparing = plans.prepare('one', graph)
        assert.ok(preparing)
        await preparing
        taken.push(room.bytes)
        assert.ok(plans.compile('one', graph).bytes > 3_000_000)
      }
      const [first, second, third, fourth] = taken as [number, number, number, number]
      assert.ok(first > 3_000_000 && second > 1.9 * first)
      assert.ok(third < 1.1 * second && fourth < 1.1 * second, String(taken))
    })
  })

  test('is given back some time after the last use, and taken again with the next one', async (t) => {
    const room = new Counted(1_000 * MIB)
    await withPlans(room, async (plans) => {
      // The graph is too large to be kept for long.
      const graph = chainOf(3_000, 0, 'x'.repeat(1_000))
      t.mock.timers.enable({ apis: ['setTimeout'] })
      await plans.prepare('one', graph)
      const { sha256 } = plans.compile('one', graph)
      assert.ok(room.bytes > 0)
      t.mock.timers.tick(60_000)
      assert.equal(room.bytes, 0)
      plans.compileStored(sha256)
      assert.ok(room.bytes > 0)
      t.mock.timers.tick(60_000)
      assert.equal(room.bytes, 0)
    })
  })

  test('is not taken for one whose text is small', async () => {
    const room = new Counted(1_000 * MIB)
    await withPlans(room, async (plans) => {
      const graph = chainOf(1_000)
      const preparing = plans.prepare('one', graph)
      assert.ok(preparing)
      await preparing
      assert.equal(room.bytes, 0)
      assert.ok(plans.compile('one', graph).bytes > 1_000_000)
    })
  })

  test('is kept for as long as a request works on the graph', async (t) => {
    const room = new Counted(1_000 * MIB)
    await withPlans(room, async (plans) => {
      const graph = chainOf(3_000)
      t.mock.timers.enable({ apis: ['setTimeout'] })
      await plans.prepare('one', graph)
      const taken = room.bytes
      {
        using held = plans.hold(plans.compile('one', graph))
        assert.ok(held)
        t.mock.timers.tick(60_000)
        assert.equal(room.bytes, taken)
      }
      assert.equal(room.bytes, 0)
    })
  })

  test('is given back if a graph cannot be compiled', async () => {
    const room = new Counted(1_000 * MIB)
    await using store = await Store.open(':memory:')
    const registry = {
      get: () => {
        throw new Error('broken')
      },
      all: () => builtinRegistry.all(),
    }
    await assert.rejects(
      new PlanCache(store, registry, new TimeSliceScheduler(), room).prepare('one', chainOf(3_000))!,
      /broken/,
    )
    assert.equal(room.bytes, 0)
  })

  test('is given back under pressure if a graph is only cached', async () => {
    const room = new FairMemoryAccount(16 * MIB, 20)
    await withPlans(room, async (plans) => {
      await plans.prepare('one', chainOf(3_000))
      const release = await room.take('one', 11 * MIB)
      release()
    })
  })

  test('is waited for, and a graph is refused if there is none in time', async () => {
    const room = new FairMemoryAccount(16 * MIB, 20)
    await withPlans(room, async (plans, store) => {
      const { sha256, body } = new PlanCache(store, builtinRegistry).compile('one', chainOf(3_000))
      await store.write((tx) => saveGraph(tx, sha256, body))
      const release = await room.take('one', 10 * MIB)
      await assert.rejects(plans.prepare('one', chainOf(3_000, 1))!, { code: 'SERVICE_UNAVAILABLE' })
      await assert.rejects(plans.prepareStored('one', sha256)!, { code: 'SERVICE_UNAVAILABLE' })
      const preparing = plans.prepareStored('one', sha256)!
      release()
      await preparing
      assert.equal(plans.compileStored(sha256).body, body)
    })
  })

  test('is never enough for a graph beyond the limit, which gets a clear error', async () => {
    await withPlans(new FairMemoryAccount(4 * MIB), async (plans) => {
      const told = {
        code: 'REQUEST_TOO_LARGE',
        message: 'The graph needs more memory than the server allows for one graph.',
      }
      await assert.rejects(plans.prepare('one', chainOf(3_000))!, told)
      await pause(0)
      // Small graphs need no room.
      assert.equal(plans.prepare('one', chainOf(3)), null)
    })
  })
})
