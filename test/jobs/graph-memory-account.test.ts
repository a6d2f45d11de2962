// The memory account of job graphs: users share it, jobs with the same plan count once, and released memory can be taken again.
// own-process: it collects garbage again and again, which takes long beside the modules of other tests.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { Plan } from '../../src/engine/compile/compiler.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { ActiveJob } from '../../src/jobs/active-job.ts'
import { type GraphHolder, GraphMemoryAccount } from '../../src/jobs/graph-memory-account.ts'
import { heapShareBytes } from '../../src/payloads/fair-memory-account.ts'
import { systemPlatform } from '../../src/platform.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { until } from '../helpers/server.ts'
import { coded, ended, gated, OWNER, outputs, plain, startGated, submit } from './kit.ts'

setFlagsFromString('--expose-gc')
const gc = runInNewContext('gc') as () => void

const OTHER: OwnerScope = { user_id: '2', workspace_id: null }

function holder(graph_bytes: number, user = 'a', plan = {} as Plan): GraphHolder {
  return { user, plan, graph_bytes }
}

describe('the memory account of graphs', () => {
  test('gives one user at most three quarters, and the rest to others', () => {
    const memory = new GraphMemoryAccount(100)
    const [one, two] = [holder(40), holder(35)]
    memory.take(one)
    memory.take(two)
    assert.throws(() => memory.take(holder(1)), coded('QUEUE_FULL'))
    memory.take(holder(12, 'b'))
    memory.release(one)
    memory.release(one)
    memory.take(holder(20))
    assert.throws(() => memory.take(holder(30)), coded('QUEUE_FULL'))
  })

  test('counts a plan once for all of its jobs, until the last of them is released', () => {
    const memory = new GraphMemoryAccount(100)
    const plan = {} as Plan
    const jobs = [holder(70, 'a', plan), holder(70, 'a', plan), holder(70, 'a', plan)]
    for (const job of jobs) memory.take(job)
    for (const job of jobs.slice(1)) memory.release(job)
    assert.throws(() => memory.take(holder(70)), coded('QUEUE_FULL'))
    memory.release(jobs[0]!)
    memory.take(holder(70))
  })

  test('holds graphs that were accepted before, even beyond the limit', () => {
    const memory = new GraphMemoryAccount(100)
    const restored = Array.from({ length: 4 }, () => holder(50))
    for (const job of restored) memory.hold(job)
    assert.throws(() => memory.take(holder(1, 'b')), coded('QUEUE_FULL'))
    for (const job of restored) memory.release(job)
    memory.take(holder(1, 'b'))
  })

  test('has room for a graph of any size beside small graphs, and then still for others', () => {
    const memory = new GraphMemoryAccount(100)
    memory.take(holder(10, 'b'))
    memory.take(holder(10_000))
    assert.throws(() => memory.take(holder(10_000)), coded('QUEUE_FULL'))
    assert.throws(() => memory.take(holder(10_000, 'b')), coded('QUEUE_FULL'))
    memory.take(holder(12, 'c'))
  })
})

/** `in -> gate -> out` with many values beside it, which count 84 bytes each. */
function large(count: number, first: string): Graph {
  const nodes = [source('in', 'x'), node('gate', 'test.Gate'), sink('out')]
  const beside = node('beside', 'constant.List', { value: [first, ...Array.from({ length: count }, () => ({}))] })
  return graph([...nodes, beside], ['in.output->gate.value', 'gate.output->out.value'])
}

/** The same with a delay in the place of the gate. */
function later({ nodes, edges }: Graph): Graph {
  const delay = node('gate', 'control.Delay', { seconds: 3_600 })
  return { nodes: nodes.map((one) => (one.id === 'gate' ? delay : one)), edges }
}

describe('jobs with large graphs of their own', () => {
  test('share the plan of the same graph, however long one of them waits', async () => {
    await using server = await startGated({ config: { max_concurrent_jobs: 1 } })
    submit(server, { graph: gated })
    const first = submit(server, { graph: large(900_000, 'a') })
    for (const more of ['b', 'c', 'd']) await submit(server, { graph: large(100_000, more) }).accepted()
    // A plan without holders is dropped in a later turn.
    await setImmediate()
    gc()
    assert.equal(submit(server, { graph: large(900_000, 'a') }).plan, first.plan)
    server.gate.waiting[0]!.open()
  })

  for (const running of [1, 10])
    test(`are accepted up to the share of one user, where ${running} may run`, async () => {
      await using server = await startGated({ config: { max_concurrent_jobs: running, max_jobs_per_user: running } })
      const count = Math.floor((heapShareBytes(0.125) * 0.75) / 84 / 2.5)
      submit(server, { graph: gated })
      await until('the gate', () => server.gate.waiting.length === 1)
      const [a, b] = ['a', 'b'].map((more) => submit(server, { graph: large(count, more) })) as [ActiveJob, ActiveJob]
      await b.accepted()
      assert.throws(() => submit(server, { graph: large(count, 'c') }), coded('QUEUE_FULL'))
      const other = submit(server, { graph: plain }, OTHER)
      await other.accepted()
      await server.context.runs.jobs.cancel({ user_id: '1', workspace_id: null }, a.row.id)
      const next = submit(server, { graph: large(count, 'c') })
      await next.accepted()
      for (let left = 3; left > 0; left--) (await until('a gate', () => server.gate.waiting[0])).open()
      assert.deepEqual(outputs(await ended(server, next.row.id)), { out: 'x' })
    })

  test('wait for room when they are due, and hold back no other job of their user', async () => {
    let passed_ms = 0
    const platform = { ...systemPlatform(), elapsed: () => performance.now() + passed_ms }
    await using server = await startGated({ platform })
    const { jobs } = server.context.runs
    const isOver = async ({ row }: ActiveJob) => (await jobs.get(OWNER, row.id)).row.finished_at !== null
    const count = Math.floor((heapShareBytes(0.125) * 0.75) / 84 / 2.5)
    const [due, small] = [later(large(count, 'due')), later(gated)].map((graph) => submit(server, { graph }))
    await due!.settled()
    await small!.settled()
    const running = ['a', 'b'].map((first) => submit(server, { graph: large(count, first) }))
    for (const job of running) await job.accepted()
    passed_ms += 3_600_000
    // When this job is suspended, due jobs are checked.
    await submit(server, { graph: later(gated) }).settled()
    await until('the small one to go on', () => isOver(small!))
    assert.equal((await jobs.get(OWNER, due!.row.id)).row.status, 'paused')
    await jobs.cancel(OWNER, running[0]!.row.id)
    await until('the large one to go on', () => isOver(due!))
    assert.deepEqual(outputs(await ended(server, due!.row.id)), { out: 'x' })
  })
})
