// Secrets in tools of agents: inserted where the agent's own node names them, and nowhere else, however its tools arrive.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { agentProvider, toolTexts } from '../helpers/agent-provider.ts'
import { FolderCopies, inFolder } from '../helpers/folder.ts'
import { startServer, type TestSettings, until } from '../helpers/server.ts'
import { ended, submit } from '../jobs/kit.ts'
import { stored } from '../models/kit.ts'
import { bodyOf, httpServer } from '../net/servers.ts'

const SECRET = 'a value of twenty-five c.'
const NAMED = '{{secret:K1}}'
const ENCODED = encodeURIComponent(SECRET)

type Entry = string | { readonly [key: string]: unknown }

/** Calls each agent's first tool once, without arguments. */
const settings = (): TestSettings => ({
  providers: [
    agentProvider((request) => {
      const [tool] = (request.tools ?? []) as { function: { name: string } }[]
      if (toolTexts(request).length > 0 || !tool) return { say: ['done'] }
      return { calls: [{ name: tool.function.name, args: {} }] }
    }),
  ],
  environment: { SVC_SECRET_K1: SECRET, SVC_HTTP_NODE_ALLOW: '127.0.0.1' },
})

const MODEL = { model: 'agent/brain', prompt: 'do it' }

const agent = (data: object, nodes: Graph['nodes'] = [], ...edges: string[]) =>
  graph([...nodes, node('agent', 'agent.Run', { ...MODEL, ...data }), sink('out')], [
    ...edges,
    'agent.steps->out.value',
  ] as never)

const asking = (url: string): Entry[] => [{ node_type: 'http.Request', data: { url: `${url}/?x=${NAMED}` } }]

/** An agent whose only tool is another agent with these tools. */
const nested = (tools: Entry[]): Entry[] => [{ node_type: 'agent.Run', data: { ...MODEL, tools } }]

const input = (more: object = {}) => node('in', 'input.Any', { name: 'p', ...more })

/** The requests to a server of runs of a graph that the test makes from the server's URL. */
async function askedBy(make: (url: string) => { of: Graph; params?: object }): Promise<string[]> {
  const asked: string[] = []
  await using server = await startServer(settings())
  await using target = await httpServer((request, response) => {
    asked.push(request.url!)
    response.end('ok')
  })
  const { of, params = {} } = make(target.url)
  const row = await ended(server, submit(server, { graph: of, params: { ...params } }).row.id)
  assert.equal(row.status, 'completed', row.error ?? '')
  return asked.map((url) => decodeURI(url))
}

describe('secrets in tools of an agent', () => {
  test('are inserted where the node itself names them', async () => {
    for (const tools of [asking, (url: string) => nested(asking(url))])
      assert.deepEqual(await askedBy((url) => ({ of: agent({ tools: tools(url) }) })), [`/?x=${SECRET}`])
  })

  const ways: Record<string, (tools: Entry[]) => { of: Graph; params?: object }> = {
    'a parameter': (tools) => ({ of: agent({}, [input()], 'in.output->agent.tools'), params: { p: tools } }),
    'the default of an input': (tools) => ({ of: agent({}, [input({ value: tools })], 'in.output->agent.tools') }),
    'a constant': (tools) => ({
      of: agent({}, [node('c', 'constant.List', { value: tools })], 'c.output->agent.tools'),
    }),
    'a text': (tools) => ({
      of: agent({}, [node('c', 'json.Parse', { text: JSON.stringify(tools) })], 'c.output->agent.tools'),
    }),
    'a parameter, in place of its own': (tools) => ({
      of: agent({ tools }, [input()], 'in.output->agent.tools'),
      params: { p: tools },
    }),
  }
  for (const [what, way] of Object.entries(ways))
    test(`are not inserted if its tools come along an edge: ${what}`, async () => {
      assert.deepEqual(await askedBy((url) => way(asking(url))), [`/?x=${NAMED}`])
      assert.deepEqual(await askedBy((url) => way(nested(asking(url)))), [`/?x=${NAMED}`])
    })

  test('are not inserted in the workflow that a tool calls with them', async () => {
    const asked: string[] = []
    await using server = await startServer(settings())
    await using target = await httpServer((request, response) => {
      asked.push(decodeURI(request.url!))
      response.end('ok')
    })
    const id = await stored(server, agent({}, [input({ value: asking(target.url) })], 'in.output->agent.tools'))
    const dynamic = { dynamic_properties: { p: asking(target.url) }, dynamic_outputs: { out: { type: 'any' } } }
    const call = node('call', 'workflow.Call', { workflow_id: id }, dynamic)
    for (const each of [agent({ tools: [`workflow/${id}`] }), graph([call], [])])
      assert.equal((await ended(server, submit(server, { graph: each }).row.id)).error, null)
    assert.deepEqual(asked, [`/?x=${NAMED}`, `/?x=${NAMED}`])
  })

  test('are not inserted into any other property, and null there is the default', async () => {
    const told: string[] = []
    await using server = await startServer(settings())
    await using target = await httpServer(async (request, response) => {
      told.push([request.url, request.headers['x-key'], await bodyOf(request)].join(' '))
      response.end('ok')
    })
    const data = { url: target.url, method: 'POST', query: { q: NAMED }, headers: { 'x-key': NAMED }, body: NAMED }
    const p = [{ node_type: 'http.Request', data: { ...data, retries: null } }]
    const of = agent({}, [input()], 'in.output->agent.tools')
    const row = await ended(server, submit(server, { graph: of, params: { p } }).row.id)
    assert.equal(row.status, 'completed', row.error ?? '')
    assert.deepEqual(told, [`/?${new URLSearchParams({ q: NAMED })} ${NAMED} ${NAMED}`])
  })

  for (const [own, sent] of [
    [true, ENCODED],
    [false, NAMED],
  ] as const)
    test(
      `are the same after a restart in the middle of a call: ${own ? 'put in' : 'left as they are'}`,
      inFolder(async (data_dir) => {
        using copies = new FolderCopies(data_dir)
        const asked: string[] = []
        await using target = await httpServer((request, response) => {
          if (asked.push(request.url!) > 1) response.end('ok')
        })
        let job_id: string
        {
          await using first = await startServer({ data_dir, ...settings() })
          const tools = asking(target.url)
          const of = own ? agent({ tools }) : agent({}, [input()], 'in.output->agent.tools')
          const job = submit(first, { graph: of, params: own ? {} : { p: tools } })
          job_id = job.row.id
          await until('the request', () => asked.length === 1)
          await job.flushed()
          copies.take()
          job.cancel()
        }
        await using second = await startServer({ data_dir: copies.paths[0]!, ...settings() })
        const row = await ended(second, job_id)
        assert.equal(row.status, 'completed', row.error ?? '')
        assert.deepEqual(asked, [`/?x=${sent}`, `/?x=${sent}`])
      }),
    )
})
