// Continued jobs with large graphs: their graphs are compiled in time slices, like those of submissions, so that other requests are not delayed.

import assert from 'node:assert/strict'
import { readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { LOCAL_PRINCIPAL } from '../../src/access/principal.ts'
import { journalFolderPath } from '../../src/db/files/data-folder.ts'
import type { OwnerScope } from '../../src/db/owner-scope.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { NodeRegistry } from '../../src/engine/node-api/node-type.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { FairMemoryAccount, MemoryUnavailableError } from '../../src/payloads/fair-memory-account.ts'
import { systemPlatform } from '../../src/platform.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { JobFollowers } from '../../src/sockets/jobs/followers.ts'
import { graph, node, sink, source } from '../engine/kit.ts'
import { keptLog } from '../helpers/kept-log.ts'
import { startServer, type TestServer, temporaryFolder, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { coded, ended, OWNER, submit } from './kit.ts'

const NODES = 5_000
/** The most nodes that may be compiled in one turn of the event loop: one step, and some more. */
const MOST_AT_ONCE = 1_500

/** Counts the node types that are looked up in one turn of the event loop, and slows each lookup down. */
function countingTypes(): NodeRegistry & { most: number } {
  let turn = 0
  return {
    most: 0,
    get(name) {
      if (turn === 0) setImmediate(() => (turn = 0))
      this.most = Math.max(this.most, ++turn)
      const until = performance.now() + 0.02
      while (performance.now() < until);
      return builtinRegistry.get(name)
    },
    all: () => builtinRegistry.all(),
  }
}

/** A delay beside many other nodes. */
function large(seconds: number): Graph {
  const nodes = Array.from({ length: NODES }, (_, at) =>
    node(`constant-of-a-large-graph-${at}`, 'constant.Integer', { value: at }),
  )
  const waiting = [source('in', 'x'), node('wait', 'control.Delay', { seconds }), sink('out')]
  return graph([...waiting, ...nodes], ['in.output->wait.value', 'wait.output->out.value'])
}

/** A graph that calls a workflow with the large graph. */
async function calling(server: TestServer, called: Graph): Promise<Graph> {
  const { record } = await server.context.runs.workflows.create(OWNER, { name: 'called', graph: called as never })
  const outputs = { dynamic_outputs: { out: { type: 'any' } } as never }
  return graph([node('call', 'workflow.Call', { workflow_id: record.id }, outputs)], [])
}

type MakeGraph = (server: TestServer, large: Graph) => Graph | Promise<Graph>

/** Submits a job that reaches a state. It returns the most lookups of the next process in one turn, until the job reaches another state. */
async function mostAtOnce(
  seconds: number,
  before: string,
  after: string,
  made: MakeGraph = (_server, given) => given,
): Promise<number> {
  const data_dir = temporaryFolder()
  let now = Date.now()
  const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
  try {
    let id: string
    const reaches = (server: TestServer, state: string) =>
      until(`the job to be ${state}`, async () => (await server.context.runs.jobs.get(OWNER, id)).row.status === state)
    {
      await using server = await startServer({ data_dir, platform })
      id = submit(server, { graph: await made(server, large(seconds)) }).row.id
      await reaches(server, before)
    }
    if (after !== 'cancelled') now += seconds * 1_000
    const registry = countingTypes()
    await using server = await startServer({ data_dir, registry, platform })
    if (after === 'cancelled') await server.context.runs.jobs.cancel(OWNER, id)
    await reaches(server, after)
    return registry.most
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
}

describe('a large graph is compiled in slices', () => {
  for (const [when, seconds, before, after] of [
    ['where its job was under way when the server stopped', 29, 'running', 'running'],
    ['where its job wakes up', 3_600, 'paused', 'completed'],
    ['where its job is cancelled while it waits', 3_600, 'paused', 'cancelled'],
  ] as const)
    test(when, async () => {
      const most = await mostAtOnce(seconds, before, after)
      assert.ok(most > 0 && most < MOST_AT_ONCE, `${most} nodes at once`)
    })

  for (const [when, seconds, before, after] of [
    ['was under way when the server stopped', 29, 'running', 'running'],
    ['wakes up', 3_600, 'paused', 'completed'],
  ] as const)
    test(`where a job calls it that ${when}`, async () => {
      const most = await mostAtOnce(seconds, before, after, calling)
      assert.ok(most > 0 && most < MOST_AT_ONCE, `${most} nodes at once`)
    })

  test('where a socket gets the end of its job', async () => {
    const data_dir = temporaryFolder()
    try {
      let job_id: string
      {
        await using server = await startServer({ data_dir })
        job_id = submit(server, { graph: large(0) }).row.id
        await until('the job to end', async () => (await server.context.runs.jobs.get(OWNER, job_id)).row.finished_at)
      }
      const registry = countingTypes()
      await using server = await startServer({ data_dir, registry })
      await using socket = await connect(server)
      socket.command('cancel_job', { job_id })
      assert.equal((await socket.next({ type: 'job_update' })).status, 'completed')
      assert.ok(registry.most > 0 && registry.most < MOST_AT_ONCE, `${registry.most} nodes at once`)
    } finally {
      rmSync(data_dir, { recursive: true, force: true })
    }
  })
})

test('a large graph is compiled in slices where a follower reads missed events from the database', async () => {
  const data_dir = temporaryFolder()
  try {
    let job_id: string
    {
      await using server = await startServer({ data_dir })
      job_id = submit(server, { graph: large(0) }).row.id
      await until('the job to end', async () => (await server.context.runs.jobs.get(OWNER, job_id)).row.finished_at)
    }
    const registry = countingTypes()
    await using server = await startServer({ data_dir, registry })
    const frames: object[] = []
    const followers = new JobFollowers({
      principal: LOCAL_PRINCIPAL,
      app: server.context,
      closed: new AbortController().signal,
      congested: false,
      drained: async () => {},
      send: (frame) => void frames.push(frame),
      isLarge: () => false,
      encodeLarge: async () => assert.fail('no frame is large'),
      holdLarge: async () => assert.fail('no frame is large'),
      reader: server.context.transport.response_buffers.createReader('owner', () => {}),
    })
    followers.follow((await server.context.runs.jobs.get(OWNER, job_id)).row, 0, { detail: 'full' })
    await followers.whenFinished()
    assert.equal((frames.at(-1) as { status?: string }).status, 'completed')
    assert.ok(registry.most > 0 && registry.most < MOST_AT_ONCE, `${registry.most} nodes at once`)
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
})

test('a job ends where the file of its called large graph is missing, and cannot be retried', async () => {
  const data_dir = temporaryFolder()
  let now = Date.now()
  const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
  try {
    let id: string
    {
      await using server = await startServer({ data_dir, platform })
      id = submit(server, { graph: await calling(server, large(3_600)) }).row.id
      await until('it to wait', async () => (await server.context.runs.jobs.get(OWNER, id)).row.status === 'paused')
    }
    const journal = journalFolderPath(data_dir)
    const files = readdirSync(journal, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
    assert.equal(files.length, 1)
    rmSync(join(files[0]!.parentPath, files[0]!.name))
    now += 3_700_000
    await using server = await startServer({ data_dir, platform })
    const { status, error } = await ended(server, id)
    assert.deepEqual([status, JSON.parse(error!).type], ['failed', 'interrupted'])
    await assert.rejects(server.context.runs.jobs.retry(OWNER, id), coded('CONFLICT'))
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
})

test('a job continues later where there is no room for its called large graph', async () => {
  const data_dir = temporaryFolder()
  let now = Date.now()
  const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
  const { take } = FairMemoryAccount.prototype
  let refused = 0
  const { log, lines } = keptLog()
  try {
    let id: string
    {
      await using server = await startServer({ data_dir, platform })
      id = submit(server, { graph: await calling(server, large(3_600)) }).row.id
      await until('it to wait', async () => (await server.context.runs.jobs.get(OWNER, id)).row.status === 'paused')
    }
    FairMemoryAccount.prototype.take = async function (this: FairMemoryAccount, ...of) {
      if (++refused <= 2) throw new MemoryUnavailableError()
      return take.apply(this, of)
    }
    now += 3_700_000
    await using server = await startServer({ data_dir, platform, log })
    assert.equal((await ended(server, id)).status, 'completed')
    assert.ok(refused > 2, `${refused} times`)
    const told = lines.map((line) => JSON.parse(line)).filter(({ job_id }) => job_id === id)
    assert.ok(told.every(({ msg }) => msg === 'a job waits for memory'))
    assert.ok(told.length > 0)
  } finally {
    FairMemoryAccount.prototype.take = take
    rmSync(data_dir, { recursive: true, force: true })
  }
})

/** More jobs than one turn handles, all with large graphs of their own. */
const COUNT = 150
/** At most this many of them may continue before a job of another user does. */
const MOST_BEFORE = 20
const OTHER: OwnerScope = { user_id: '2', workspace_id: null }

function waitingWith(text: string): Graph {
  const nodes = [source('in', 'x'), node('wait', 'control.Delay', { seconds: 3_600 }), sink('out')]
  return graph(
    [...nodes, node('text', 'constant.String', { value: text })],
    ['in.output->wait.value', 'wait.output->out.value'],
  )
}

test('jobs of a user with many large graphs do not hold back a job of another user that is due after them', async () => {
  const data_dir = temporaryFolder()
  let now = Date.now()
  const platform = { ...systemPlatform(), now: () => now, timestamp: () => new Date(now).toISOString() }
  try {
    let other: string
    {
      await using server = await startServer({ data_dir, platform })
      const paused = (owner: OwnerScope) =>
        runToCompletion(server.context.runs.jobs.listActive(owner)).filter(({ status }) => status === 'paused').length
      for (let at = 0; at < COUNT; at++) submit(server, { graph: waitingWith(`${at} ${'x'.repeat(300_000)}`) })
      await until('all to wait', () => paused(OWNER) === COUNT)
      other = submit(server, { graph: waitingWith('') }, OTHER).row.id
      await until('the other one to wait', () => paused(OTHER) === 1)
    }
    // All jobs are due. The job of the other user was suspended last.
    now += 3_700_000
    await using server = await startServer({ data_dir, platform })
    await until('the other one to end', async () => (await server.context.runs.jobs.get(OTHER, other)).row.finished_at)
    const before = COUNT - runToCompletion(server.context.runs.jobs.listActive(OWNER)).length
    assert.ok(before < MOST_BEFORE, `${before} jobs went on before it`)
  } finally {
    rmSync(data_dir, { recursive: true, force: true })
  }
})
