// Calls of models in interrupted jobs: no call is paid twice, and its cost is reported once.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { deserialize } from 'node:v8'
import type { JobSnapshot } from '../../generated/types.ts'
import { listJournalPages } from '../../src/db/jobs/journal.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { NodeError } from '../../src/engine/node-api/node-error.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import type { JournalEntry } from '../../src/jobs/journal/entry.ts'
import { JobJournal } from '../../src/jobs/journal/job-journal.ts'
import type { SpilledValueStore } from '../../src/jobs/values/spilled-value-store.ts'
import { runToCompletion } from '../../src/shared/time-slices.ts'
import { graph, mapType, node, sink, withTypes } from '../engine/kit.ts'
import { FolderCopies, inFolder } from '../helpers/folder.ts'
import { call } from '../helpers/http.ts'
import { dollars, pricedProvider } from '../helpers/priced-provider.ts'
import { serve } from '../helpers/process.ts'
import { startServer, type TestServer, type TestSettings, until } from '../helpers/server.ts'
import { OWNER, startGated, submit } from '../jobs/kit.ts'
import { chatting, resultOf, run, snapshot, spent, stored } from './kit.ts'

const SCRIPT = fileURLToPath(new URL('priced-server.ts', import.meta.url))

/** `chat -> usage -> gate -> out`: the call is over when the gate is reached. */
function thenGate(chat: ReturnType<typeof node>, handle = 'usage'): Graph {
  return graph([chat, node('gate', 'test.Gate'), sink('out')], [`chat.${handle}->gate.value`, 'gate.output->out.value'])
}

const paying = () => pricedProvider({ models: { small: dollars(0, 0, 1.5) } })
const chat = node('chat', 'chat.Complete', { model: 'priced/small', prompt: 'x' })

async function ended(server: TestServer, job_id: string): Promise<void> {
  await until('its end', async () => (await snapshot(server, job_id)).finished_at !== null)
}

describe('a call that had ended before the server was stopped', () => {
  /** Runs the graph up to the gate, and then resumes it in a server that starts on a copy of the folder. */
  async function interrupted(folder: string, of: Graph, called?: Graph) {
    using copies = new FolderCopies(folder)
    const providers = [paying(), paying()]
    let job_id: string
    {
      await using first = await startGated({ data_dir: folder, providers: [providers[0]!] })
      const given = called ? withCalled(of, await stored(first, called, 'called')) : of
      const job = submit(first, { graph: given })
      job_id = job.row.id
      await until('the gate', () => first.gate.waiting[0])
      await job.flushed()
      copies.take()
    }
    await using second = await startGated({ data_dir: copies.paths[0]!, providers: [providers[1]!] })
    const entry = await until('the gate again', () => second.gate.waiting[0])
    entry.open()
    await ended(second, job_id)
    return { result: await resultOf(second, job_id), calls: providers.map(({ calls }) => calls.length) }
  }

  test(
    'is not made again, and counted once',
    inFolder(async (folder) => {
      const { result, calls } = await interrupted(folder, thenGate(chat))
      assert.deepEqual(calls, [1, 0])
      assert.deepEqual(spent(result), [[1.5, 'USD', false], ['priced'], ['priced/small']])
      assert.equal((result.outputs.out as { cost: number }).cost, 1.5)
    }),
  )

  test(
    'is not made again in a called workflow either',
    inFolder(async (folder) => {
      const calling = node('chat', 'workflow.Call', {})
      const { result, calls } = await interrupted(folder, thenGate(calling), chatting(chat.data!))
      assert.deepEqual(calls, [1, 0])
      assert.deepEqual(spent(result)[0], [1.5, 'USD', false])
    }),
  )
})

/** The graph with a node `chat` that calls the workflow. */
function withCalled(of: Graph, workflow_id: string): Graph {
  const dynamic_outputs = { usage: { type: 'any' }, out: { type: 'any' } }
  const nodes = of.nodes.map((one) => (one.id === 'chat' ? { ...one, data: { workflow_id }, dynamic_outputs } : one))
  return { ...of, nodes: nodes as Graph['nodes'] }
}

test('the usage of a call is in the journal before the end of its firing', async () => {
  await using server = await startGated({ providers: [paying()] })
  const job = submit(server, { graph: thenGate(chat) })
  await until('the gate', () => server.gate.waiting[0])
  await job.flushed()
  const { store } = server.context
  const { vault } = server.context.users
  const { key } = job.row
  const [, ...pages] = store.read((tx) => listJournalPages(tx, key))
  const read = (body: Uint8Array, page: number) =>
    deserialize(vault.cipher('journal').open(body, `${key}/${page}`)) as JournalEntry[]
  const entries = pages.flatMap(({ body, page }) => read(body, page))
  const told = entries.filter(([kind, of]) => kind === 'use' || of === '"chat"').map(([kind]) => kind)
  assert.deepEqual(told, ['start', 'item', 'item', 'item', 'use', 'end'])
  server.gate.waiting[0]!.open()
})

describe('a server that is killed in the middle of a call', () => {
  test(
    'does not make it again, with or without a first piece: the job fails, names the node, and a retry makes a new call',
    inFolder(async (folder) => {
      const calls = join(folder, 'calls')
      const environment = { PRICED_CALLS: calls, SVC_SECRET_PRICED_KEY: 'the-priced-key' }
      const jobs: string[] = []
      {
        await using server = await serve(folder, environment, SCRIPT)
        for (const prompt of ['hang at once', 'hang after a piece']) {
          const of = chatting({ model: 'priced/small', prompt })
          jobs.push((await run(server, of, { background: true })).job_id)
        }
        await until('the calls', () => linesOf(calls) === 2)
        await until('a piece', async () => hasPiece(server, jobs[1]!))
        server.kill('SIGKILL')
        await server.ended()
      }
      await using server = await serve(folder, environment, SCRIPT)
      for (const job_id of jobs) {
        await until('its end', async () => (await snapshot(server, job_id)).status === 'failed')
        const { error } = await snapshot(server, job_id)
        assert.deepEqual([error!.type, error!.node_id, error!.retryable], ['node_interrupted', 'chat', true])
      }
      assert.equal(linesOf(calls), 2)
      for (const job_id of jobs) {
        const { status, body, text } = await call<JobSnapshot>(server, 'POST', `/api/jobs/${job_id}/retry`)
        assert.equal(status, 202, text)
        await until('its end', async () => (await snapshot(server, body.job_id)).finished_at !== null)
        assert.deepEqual(spent(await resultOf(server, body.job_id))[0], [1, 'USD', false])
      }
      assert.equal(linesOf(calls), 4)
    }),
  )

  test(
    'of builtin/echo resumes it: the text is the same, without a missing or doubled word',
    inFolder(async (folder) => {
      using copies = new FolderCopies(folder)
      const text = Array.from({ length: 300 }, (_, at) => `${at === 0 ? '' : ' '}w${at}`)
      const echo = node('chat', 'chat.Complete', { model: 'builtin/echo', prompt: text.join('') })
      let job_id: string
      {
        await using first = await startGated({ data_dir: folder })
        const job = submit(first, { graph: thenGate(echo, 'text') })
        job_id = job.row.id
        await until('the first words', () => first.gate.waiting.length === 16)
        await job.flushed()
        const { store } = first.context
        const { vault } = first.context.users
        // No value is large enough to be spilled.
        const tools = { cipher: vault.cipher('journal'), spilled: {} as SpilledValueStore }
        const known = runToCompletion(JobJournal.loadSteps(store, tools, job.row.key))!.firings.get('"chat"')!
        assert.ok(known.items.length >= 16 && known.items.length < text.length && known.end === null)
        copies.take()
      }
      await using second = await startServer(passing(copies.paths[0]!))
      await ended(second, job_id)
      const result = await resultOf(second, job_id)
      assert.deepEqual(result.outputs.out, text)
      assert.deepEqual(spent(result), [[0, 'USD', true], ['builtin'], ['builtin/echo']])
    }),
  )
})

/** A server whose gate is open. */
function passing(data_dir: string): TestSettings {
  const gate: NodeType = { ...mapType('test.Gate', (value) => value) }
  return { data_dir, registry: withTypes(gate) }
}

function linesOf(file: string): number {
  try {
    return readFileSync(file, 'utf8').split('\n').length - 1
  } catch {
    return 0
  }
}

async function hasPiece(server: { url: string }, job_id: string): Promise<boolean> {
  const answer = await fetch(`${server.url}/api/jobs/${job_id}/events`, { headers: { Accept: 'application/json' } })
  return (await answer.text()).includes('"one"')
}

describe('a retry', () => {
  test('of a job with paid calls includes their cost, and does not pay them again', async () => {
    let failures = 1
    const frail: NodeType = {
      ...mapType('test.Frail', () => null),
      run: async ({ value }) => {
        if (failures-- > 0) throw new NodeError('not yet')
        return { output: value }
      },
    }
    const provider = paying()
    await using server = await startServer({ registry: withTypes(frail), providers: [provider] })
    const nodes = [
      chat,
      node('frail', 'test.Frail'),
      node('more', 'chat.Complete', chat.data!),
      sink('out'),
      sink('last'),
    ]
    const edges = ['chat.usage->frail.value', 'frail.output->out.value', 'more.usage->last.value']
    const of = graph(nodes, [...edges, { source: 'frail', target: 'more', edge_type: 'control' }])
    const job = submit(server, { graph: of })
    await job.settled()
    assert.deepEqual([job.row.status, provider.calls.length], ['failed', 1])
    const { row } = await server.context.runs.jobs.retry(OWNER, job.row.id)
    await ended(server, row.id)
    assert.deepEqual(spent(await resultOf(server, row.id))[0], [3, 'USD', false])
    assert.equal(provider.calls.length, 2)
  })
})
