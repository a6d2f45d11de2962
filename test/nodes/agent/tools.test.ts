// The tools of an agent: they stay as they were when it began, and give no way to call anything else.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ResultManifest } from '../../../generated/types.ts'
import { graph, node, output, sink, source, testType, value, withTypes } from '../../engine/kit.ts'
import { agentProvider, toolTexts } from '../../helpers/agent-provider.ts'
import { FolderCopies, inFolder } from '../../helpers/folder.ts'
import { call as http } from '../../helpers/http.ts'
import { startServer, until } from '../../helpers/server.ts'
import { ended, submit } from '../../jobs/kit.ts'
import { stored } from '../../models/kit.ts'

const agent = (tools: unknown[], data: object = {}) =>
  graph(
    [node('agent', 'agent.Run', { model: 'agent/brain', prompt: 'do it', tools, ...data }), sink('answer')],
    ['agent.answer->answer.value'],
  )

/** Calls a tool once, and answers with the result. */
const calling = (name: string, args: unknown) =>
  agentProvider((request) => {
    const [told] = toolTexts(request)
    return told === undefined ? { calls: [{ name, args }] } : { say: [told] }
  })

const answerOf = (result: string | null): string =>
  String((JSON.parse(result ?? '{}') as ResultManifest).outputs?.answer)

/** A node that hangs the first time. */
function effect() {
  const count = { made: 0 }
  const type = testType('test.Effect', {
    properties: [value],
    outputs: [output],
    retry_safe: false,
    async run() {
      if (++count.made === 1) await new Promise(() => {})
      return { output: 'sent' }
    },
  })
  return { count, type }
}

describe('an agent that resumes after an interruption', () => {
  for (const [what, change] of [
    ['renamed', { method: 'PUT', body: { name: 'Another' } }],
    ['deleted', { method: 'DELETE' }],
  ] as const)
    test(
      `still knows a tool that was ${what} meanwhile, and that its call was interrupted`,
      inFolder(async (data_dir) => {
        using copies = new FolderCopies(data_dir)
        const { count, type } = effect()
        const settings = { providers: [calling('Sender', { in: 1 })], registry: withTypes(type) }
        const of = graph(
          [node('in', 'input.Any', { name: 'in' }), node('n', 'test.Effect'), sink('out')],
          ['in.output->n.value', 'n.output->out.value'],
        )
        let job_id: string
        {
          await using first = await startServer({ data_dir, ...settings })
          const id = await stored(first, of, 'Sender')
          const job = submit(first, { graph: agent([`workflow/${id}`]) })
          job_id = job.row.id
          await until('the effect', () => count.made === 1)
          await job.flushed()
          const body = 'body' in change ? { body: { ...change.body, graph: of } } : {}
          const { status, text } = await http(first, change.method, `/api/workflows/${id}`, body)
          assert.ok(status < 300, text)
          copies.take()
          job.cancel()
        }
        await using second = await startServer({ data_dir: copies.paths[0]!, ...settings })
        const row = await ended(second, job_id)
        assert.equal(row.status, 'completed', row.error ?? '')
        assert.match(answerOf(row.result), /^Error: The call was interrupted, and nobody knows whether it took effect/)
        assert.equal(count.made, 1)
      }),
    )
})

test('code that a model writes returns its result as one output', async () => {
  await using server = await startServer({
    providers: [calling('code_JavaScript', { code: 'return {output: 6 * 7}' })],
  })
  const row = await ended(server, submit(server, { graph: agent(['code.JavaScript']) }).row.id)
  assert.equal(answerOf(row.result), '42', row.error ?? '')
})

test('names that the author gives take precedence over generated names', async () => {
  const provider = calling('x', {})
  await using server = await startServer({ providers: [provider] })
  const tools = ['text.Template', { node_type: 'math.Formula', name: 'text_Template' }, 'text.Template']
  await ended(server, submit(server, { graph: agent(tools) }).row.id)
  const told = provider.requests[0]!.tools as { function: { name: string } }[]
  assert.deepEqual(
    told.map((one) => one.function.name),
    ['text_Template_2', 'text_Template', 'text_Template_3'],
  )
})

test('workflow.Call cannot be a tool, so a model cannot name arbitrary workflows', async () => {
  const provider = calling('x', {})
  await using server = await startServer({ providers: [provider] })
  const { nodes, edges } = agent([])
  const fed = graph([...nodes, source('tools', ['workflow.Call'])], ['tools.output->agent.tools'])
  const row = await ended(server, submit(server, { graph: { ...fed, edges: [...edges, ...fed.edges] } }).row.id)
  const { type, message } = JSON.parse(row.error!)
  assert.deepEqual(
    [type, message],
    ['unknown_tool', '"workflow.Call" cannot be a tool: name the workflow itself as workflow/<id>.'],
  )
  assert.equal(provider.requests.length, 0)
})

test('a generated workflow id of a single node cannot be called by a workflow', async () => {
  await using server = await startServer({})
  const one = 'node:{"data":{"template":"hi"},"given":[],"node_type":"text.Template","outputs":["output"]}'
  for (const workflow_id of [one, 'node:garbage', 'node:null']) {
    const dynamic = { dynamic_outputs: { output: { type: 'any' } } }
    const of = graph([node('c', 'workflow.Call', { workflow_id }, dynamic), sink('answer')], ['c.output->answer.value'])
    const row = await ended(server, submit(server, { graph: of }).row.id)
    const { type, message } = JSON.parse(row.error ?? '{}')
    assert.deepEqual([type, message], ['bad_input', `There is no workflow "${workflow_id}".`])
  }
})

test('an agent whose tools are too large together fails with advice, and calls no model', async () => {
  let asked = 0
  const provider = agentProvider(() => {
    asked++
    return { say: ['done'] }
  })
  await using server = await startServer({ providers: [provider] })
  const description = 'x'.repeat(130_000)
  const id = await stored(server, graph([node('in', 'input.Any', { name: 'in', description })], []), 'Large')
  const outcomeOf = async (count: number) => {
    const row = await ended(server, submit(server, { graph: agent(Array(count).fill(`workflow/${id}`)) }).row.id)
    return JSON.stringify([row.status, row.error && JSON.parse(row.error)])
  }
  assert.match(await outcomeOf(120), /^\["completed"/)
  assert.equal(asked, 1)
  assert.match(
    await outcomeOf(128),
    /^\["failed",.*have more than 16,000,000 characters together\. Give the agent fewer\./,
  )
  assert.equal(asked, 1)
})
