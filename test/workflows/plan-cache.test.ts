// Tests that compiled graphs are cached by owner and content, bounded by text length rather than by number.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { saveGraph } from '../../src/db/graphs.ts'
import { Store } from '../../src/db/store.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { NodeRegistry } from '../../src/engine/node-api/node-type.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import { parseType } from '../../src/engine/node-api/values/type-metadata.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { FairMemoryAccount } from '../../src/payloads/fair-memory-account.ts'
import { type Steps, TimeSliceScheduler } from '../../src/shared/time-slices.ts'
import { type CompiledWorkflowGraph, PlanCache } from '../../src/workflows/plan-cache.ts'
import { testType, withTypes } from '../engine/kit.ts'

/** A graph of about `length` characters that differs from every other by its number. */
function graphOf(number: number, length: number) {
  const node = { id: 'in', type: 'input.String', data: { name: 'text', description: `${number}`.padEnd(length, '.') } }
  return { nodes: [node], edges: [] }
}

function chainOf(count: number): Graph {
  const nodes = Array.from({ length: count }, (_, at) => ({
    id: `n${at}`,
    type: 'text.Trim',
    data: {},
    ui_properties: at,
  }))
  const edges = nodes.slice(1).map(({ id }, at) => {
    return { source: `n${at}`, sourceHandle: 'output', target: id, targetHandle: 'text', ui_properties: { at } }
  })
  return { nodes, edges }
}

/** A node type with an invalid value that is slow to parse, the owners it was parsed for, and plans of graphs with it. */
function slowToRead(store: Store) {
  const readFor: string[] = []
  const slow = testType('test.Slow', {
    properties: [{ name: 'own', type: parseType('str') }],
    expressions: { own: () => {} },
    slowExpressions: {
      own: () => async (apart) => {
        readFor.push(apart.owner)
        return 'It is wrong.'
      },
    },
  })
  const plans = new PlanCache(store, withTypes(slow), new TimeSliceScheduler(), new FairMemoryAccount(), noServices)
  const nodes = [{ id: 'slow', type: 'test.Slow', data: { own: 'x' } }]
  return {
    readFor,
    plans,
    graphWith: ({ nodes: more, edges }: Graph): Graph => ({ nodes: [...nodes, ...more], edges }),
  }
}

function invalidExpressions({ issues }: CompiledWorkflowGraph): string[] {
  return issues.filter(({ code }) => code === 'invalid_expression').map(({ message }) => message)
}

/** A registry that counts its lookups. */
function counting(nodes: NodeRegistry) {
  let asked = 0
  const get = (type: string) => {
    asked++
    return nodes.get(type)
  }
  return { registry: { get, all: () => nodes.all() }, asked: () => asked }
}

function* untilTrue(isOver: () => boolean): Steps<void> {
  while (!isOver()) yield
}

function pick({ sha256, body, etag, issues }: CompiledWorkflowGraph) {
  return { sha256, body, etag, issues }
}

describe('cached plans:', () => {
  test('the same graph is compiled once, a stored one from its text', async () => {
    await using store = await Store.open(':memory:')
    const plans = new PlanCache(store, builtinRegistry)
    const first = plans.compile('one', graphOf(1, 100))
    assert.equal(plans.compile('one', graphOf(1, 100)), first)
    assert.equal(plans.compileStored(first.sha256), first)
    assert.notEqual(plans.compile('one', graphOf(2, 100)), first)
  })

  for (const [size, make] of Object.entries({ small: () => graphOf(1, 100), large: () => chainOf(5_000) }))
    test(`a ${size} graph that another user has is compiled anew, so that its time does not tell who has it`, async () => {
      await using store = await Store.open(':memory:')
      const counted = counting(builtinRegistry)
      const plans = new PlanCache(store, counted.registry)
      const compile = async (owner: string) => {
        const graph = make()
        await plans.prepare(owner, graph)
        return plans.compile(owner, graph)
      }
      const hers = await compile('ada')
      const once = counted.asked()
      const his = await compile('bob')
      assert.equal(counted.asked(), 2 * once)
      assert.notEqual(his, hers)
      assert.deepEqual(
        [plans.isKnown(hers.sha256), hers.sha256 === his.sha256, hers.etag === his.etag],
        [true, false, true],
      )
      assert.equal(await plans.compileText('bob', his.body), his)
      assert.equal(await compile('ada'), hers)
      assert.equal(await compile('bob'), his)
    })

  test('many large graphs displace the oldest; the largest are found as long as other code holds them', async () => {
    await using store = await Store.open(':memory:')
    const plans = new PlanCache(store, builtinRegistry)
    const small = plans.compile('one', graphOf(0, 100))
    const large = plans.compile('one', graphOf(1, 3 * 1024 * 1024))
    assert.equal(plans.compile('one', graphOf(1, 3 * 1024 * 1024)), large)
    assert.equal(plans.compile('one', graphOf(0, 100)), small)
    for (let number = 2; number < 8; number++) plans.compile('one', graphOf(number, 1_500_000))
    assert.notEqual(plans.compile('one', graphOf(0, 100)), small)
    const last = plans.compile('one', graphOf(7, 1_500_000))
    assert.equal(plans.compile('one', graphOf(7, 1_500_000)), last)
  })

  test('a large graph that is prepared in steps equals one that is compiled at once, and is found when it is needed', async () => {
    await using store = await Store.open(':memory:')
    const large = chainOf(5_000)
    const expected = new PlanCache(store, builtinRegistry).compile('one', structuredClone(large))
    const plans = new PlanCache(store, builtinRegistry)
    await plans.prepare('one', large)
    const prepared = plans.compile('one', large)
    assert.equal(plans.compileStored(prepared.sha256), prepared)
    assert.equal(plans.prepare('one', large), null)
    assert.equal(plans.prepareStored('two', prepared.sha256), null)
    const { sha256, body, etag, issues, plan } = prepared
    assert.deepEqual({ sha256, body, etag, issues }, pick(expected))
    assert.equal(plan?.nodes.length, expected.plan?.nodes.length)
  })

  test('a large graph is not serialized and hashed again if another object of the same content is prepared', async () => {
    await using store = await Store.open(':memory:')
    const plans = new PlanCache(store, builtinRegistry)
    const [one, other] = [chainOf(5_000), chainOf(5_000)]
    await plans.prepare('one', one)
    await plans.prepare('one', other)
    // Serializing it again would give another graph.
    other.nodes = []
    assert.ok(plans.compile('one', other) === plans.compile('one', one))
  })

  test('a large stored graph is prepared once for all simultaneous callers', async () => {
    await using store = await Store.open(':memory:')
    const { body, sha256 } = new PlanCache(store, builtinRegistry).compile('one', chainOf(5_000))
    await store.write((tx) => saveGraph(tx, sha256, body))
    const counted = counting(builtinRegistry)
    const plans = new PlanCache(store, counted.registry)
    const asked = ['one', 'two', 'one', 'three'].map((owner) => plans.prepareStored(owner, sha256))
    assert.ok(asked[0] && asked[0] === asked[2])
    const [first, ...others] = await Promise.all(asked)
    assert.equal(plans.compileStored(sha256).body, body)
    for (const other of others) assert.equal(other, first)
    assert.equal(plans.compileStored(sha256), first)
    const alone = counting(builtinRegistry)
    new PlanCache(store, alone.registry).compileStored(sha256)
    assert.equal(counted.asked(), alone.asked())
  })

  test('a large graph that one user requested behind much other work is prepared at once for another', async () => {
    await using store = await Store.open(':memory:')
    const { body, sha256 } = new PlanCache(store, builtinRegistry).compile('much', chainOf(5_000))
    await store.write((tx) => saveGraph(tx, sha256, body))
    const plans = new PlanCache(store, builtinRegistry)
    let over = false
    const much = plans.slices.run(
      'much',
      untilTrue(() => over),
    )
    const waiting = [
      plans.prepareStored('much', sha256),
      plans.compileText('much', body),
      plans.prepare('much', chainOf(5_000)),
    ]
    await plans.prepareStored('other', sha256)
    assert.ok(plans.isKnown(sha256))
    over = true
    await Promise.all([much, ...waiting])
  })

  test('a large graph for which one user has no room is prepared at once for another', async () => {
    await using store = await Store.open(':memory:')
    const { body, sha256 } = new PlanCache(store, builtinRegistry).compile('one', chainOf(5_000))
    await store.write((tx) => saveGraph(tx, sha256, body))
    const room = new FairMemoryAccount(1024 ** 3, 200)
    const release = await room.take('much', 0.75 * 1024 ** 3)
    const plans = new PlanCache(store, builtinRegistry, new TimeSliceScheduler(), room)
    const refused = Promise.allSettled([plans.prepareStored('much', sha256)])
    await plans.prepareStored('other', sha256)
    assert.ok(plans.isKnown(sha256))
    await refused
    release()
  })

  test('a large graph whose text is stored elsewhere is compiled once for all simultaneous callers', async () => {
    await using store = await Store.open(':memory:')
    const { body } = new PlanCache(store, builtinRegistry).compile('one', chainOf(5_000))
    const plans = new PlanCache(store, builtinRegistry)
    const all = await Promise.all(Array.from({ length: 8 }, () => plans.compileText('one', body)))
    assert.equal(new Set(all).size, 1)
  })

  test('a small graph is not prepared', async () => {
    await using store = await Store.open(':memory:')
    const plans = new PlanCache(store, builtinRegistry)
    assert.equal(plans.prepare('one', graphOf(1, 100)), null)
    assert.equal(plans.prepareStored('one', 'f'.repeat(64)), null)
    const { sha256, body } = plans.compile('one', graphOf(1, 100))
    await store.write((tx) => saveGraph(tx, sha256, body))
    assert.equal(new PlanCache(store, builtinRegistry).prepareStored('one', sha256), null)
  })

  for (const [size, more] of Object.entries({ small: graphOf(1, 100), large: chainOf(5_000) }))
    test(`a ${size} graph is prepared with its slow expressions, which are parsed once`, async () => {
      await using store = await Store.open(':memory:')
      const { plans, readFor, graphWith } = slowToRead(store)
      const graph = graphWith(more)
      await plans.prepare('one', graph)
      const compiled = plans.compile('one', graph)
      assert.deepEqual(invalidExpressions(compiled), ['Node "slow": It is wrong.'])
      assert.equal(plans.prepare('one', graph), null)
      await plans.prepare('one', structuredClone(graph))
      assert.deepEqual(readFor, ['one'])
      await plans.prepare('two', structuredClone(graph))
      assert.deepEqual(readFor, ['one', 'two'])
    })

  for (const [size, more] of Object.entries({ small: graphOf(1, 100), large: chainOf(5_000) }))
    test(`a ${size} stored graph has its expressions parsed for new runs, and not for accepted ones`, async () => {
      await using store = await Store.open(':memory:')
      const { sha256, body } = new PlanCache(store, builtinRegistry).compile('one', slowToRead(store).graphWith(more))
      await store.write((tx) => saveGraph(tx, sha256, body))
      const { plans, readFor } = slowToRead(store)
      await plans.prepareStored('one', sha256)
      assert.deepEqual([invalidExpressions(plans.compileStored(sha256)), readFor], [[], []])
      await plans.prepareRun('one', sha256)
      assert.equal(invalidExpressions(plans.compileStored(sha256)).length, 1)
      assert.equal(plans.prepareRun('two', sha256), null)
      assert.deepEqual(readFor, ['one'])
    })

  test('a graph that others displace while its slow expressions are parsed is found with its issues', async () => {
    await using store = await Store.open(':memory:')
    const { sha256, body } = new PlanCache(store, builtinRegistry).compile(
      'one',
      slowToRead(store).graphWith(graphOf(1, 100)),
    )
    await store.write((tx) => saveGraph(tx, sha256, body))
    const { plans } = slowToRead(store)
    const reading = plans.prepareRun('one', sha256)
    for (let number = 2; plans.isKnown(sha256); number++) plans.compile('one', graphOf(number, 200_000))
    await reading
    assert.equal(invalidExpressions(plans.compileStored(sha256)).length, 1)
  })
})
