// The text of an agent whose turns break off: its stream, its answer, the events of watchers, and the messages to the model agree.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ResultManifest } from '../../generated/types.ts'
import type { CompletionRequest } from '../../src/models/provider.ts'
import { graph, node, output, sink, testType, withTypes } from '../engine/kit.ts'
import { agentProvider, toolTexts } from '../helpers/agent-provider.ts'
import { FolderCopies, inFolder } from '../helpers/folder.ts'
import { call as http } from '../helpers/http.ts'
import { startServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { ended, OWNER, submit } from '../jobs/kit.ts'

const agent = (data: object = {}) =>
  graph(
    [node('agent', 'agent.Run', { model: 'agent/brain', prompt: 'do it', ...data }), sink('text'), sink('answer')],
    ['agent.text->text.value', 'agent.answer->answer.value'],
  )

const down = async (): Promise<never> => {
  throw new Error('down')
}

function said(result: string | null): [text: string, answer: string] {
  const { text, answer } = (JSON.parse(result!) as ResultManifest).outputs as { text: string[]; answer: string }
  return [text.join(''), answer]
}

const lastTold = (requests: readonly CompletionRequest[]) =>
  requests.at(-1)!.messages.map(({ role, content }) => (role === 'assistant' ? `${role}: ${content}` : role))

test('a retry of a job continues the text of the turn that failed', async () => {
  const provider = agentProvider((_, turn) =>
    turn === 0 ? { say: ['Hello wor', 'x'], waits: { before: 1, for: down } } : { say: ['ld', ', and so on.'] },
  )
  await using server = await startServer({ providers: [provider] })
  const job = submit(server, { graph: agent() })
  await job.settled()
  assert.equal(job.row.status, 'failed')
  const { row } = await server.context.runs.jobs.retry(OWNER, job.row.id)
  const again = await ended(server, row.id)
  assert.equal(again.status, 'completed', again.error ?? '')
  assert.deepEqual(said(again.result), ['Hello world, and so on.', 'Hello world, and so on.'])
  assert.deepEqual(lastTold(provider.requests), ['user', 'assistant: Hello wor', 'user'])
})

test(
  'an interrupted turn continues its text, however often it is retried',
  inFolder(async (data_dir) => {
    using copies = new FolderCopies(data_dir)
    const provider = agentProvider(
      (_, turn) =>
        [
          { say: ['Hello wor', 'x'], waits: { before: 1, for: () => new Promise(() => {}) } },
          { say: ['x'], waits: { before: 0, for: down } },
        ][turn] ?? { say: ['ld!'] },
    )
    let job_id: string
    {
      await using first = await startServer({ data_dir, providers: [provider] })
      const job = submit(first, { graph: agent({ retry: { attempts: 3, backoff_ms: 1 } }) })
      job_id = job.row.id
      await until('the words', async () => {
        const headers = { Accept: 'application/json' }
        return (await (await fetch(`${first.url}/api/jobs/${job_id}/events`, { headers })).text()).includes('Hello wor')
      })
      await job.flushed()
      copies.take()
      job.cancel()
    }
    await using second = await startServer({ data_dir: copies.paths[0]!, providers: [provider] })
    const row = await ended(second, job_id)
    assert.equal(row.status, 'completed', row.error ?? '')
    assert.deepEqual(said(row.result), ['Hello world!', 'Hello world!'])
    assert.equal(provider.requests.length, 3)
    assert.deepEqual(lastTold(provider.requests), ['user', 'assistant: Hello wor', 'user'])
  }),
)

test('watchers see the same text as the stream, including the breaks between turns', async () => {
  const provider = agentProvider((request) =>
    toolTexts(request).length === 0
      ? { say: ['A', 'a'], calls: [{ name: 'text_Template', args: { template: 'x' } }] }
      : { say: ['B'] },
  )
  await using server = await startServer({ providers: [provider] })
  const job = submit(server, { graph: agent({ tools: ['text.Template'] }), hasFollower: true })
  let seen = ''
  for await (const { frame } of server.context.runs.events.follow(job.row.key, 0, AbortSignal.timeout(60_000))) {
    const { type, content } = (frame ?? {}) as { type?: string; content?: string }
    if (type === 'chunk') seen += content
  }
  assert.equal(said((await ended(server, job.row.id)).result)[0], 'Aa\n\nB')
  assert.equal(seen, 'Aa\n\nB')
})

test('the text of an agent within an agent stays separate, and all tool calls have different ids', async () => {
  const provider = agentProvider((request) => {
    const inner = request.messages[0]!.content === 'inner task'
    const name = inner ? 'text_Template' : 'agent_Run'
    const args = inner ? { template: 'in' } : { prompt: 'inner task' }
    if (toolTexts(request).length < (inner ? 1 : 2))
      return { say: [inner ? '(thinks)' : 'A'], calls: [{ name, args, id: 'same' }] }
    return { say: [inner ? '(answers)' : 'B'] }
  })
  await using server = await startServer({ providers: [provider] })
  const within = { node_type: 'agent.Run', data: { model: 'agent/brain', tools: ['text.Template'] } }
  const of = graph(
    [
      node('each', 'control.ForEach', { list: ['x', 'y'] }),
      node('agent', 'agent.Run', { model: 'agent/brain', tools: [within] }),
    ],
    ['each.item->agent.prompt'],
  )
  const job = submit(server, { graph: of, hasFollower: true })
  const ids: string[] = []
  let seen = ''
  for await (const { frame } of server.context.runs.events.follow(job.row.key, 0, AbortSignal.timeout(60_000))) {
    const { type, content, tool_call_id } = (frame ?? {}) as { type?: string; content?: string; tool_call_id?: string }
    if (type === 'chunk') seen += content
    if (type === 'tool_call_update') ids.push(tool_call_id!)
  }
  assert.equal((await ended(server, job.row.id)).status, 'completed')
  assert.doesNotMatch(seen, /thinks|answers/)
  assert.equal(ids.length, 8)
  assert.equal(new Set(ids).size, 8, ids.join(' '))
})

test('a secret that is cut by shortening is not shown', async () => {
  const secret = 'sk-marked-0123456789abcdefghijklmnopqrstuvwxyz'
  const leak = testType('test.Leak', {
    outputs: [output],
    run: () => ({ output: `${'x'.repeat(70)}${secret}${'y'.repeat(50)}` }),
  })
  const provider = agentProvider((request) =>
    toolTexts(request).length === 0 ? { calls: [{ name: 'test_Leak', args: {} }] } : { say: ['done'] },
  )
  await using server = await startServer({ providers: [provider], registry: withTypes(leak) })
  const { status } = await http(server, 'PUT', '/api/secrets/MARK', { body: { value: secret } })
  assert.ok(status < 300)
  const data = { model: 'agent/brain', prompt: 'x', tools: ['test.Leak'], max_result_characters: 100 }
  const of = graph([node('agent', 'agent.Run', data), sink('messages')], ['agent.messages->messages.value'])
  const row = await ended(server, submit(server, { graph: of }).row.id)
  assert.match(row.result!, /shortened: the first 100 of/)
  for (const text of [row.result!, JSON.stringify(provider.requests.at(-1))]) assert.doesNotMatch(text, /sk-marked/)
})

test('a socket is told each call of a tool, and its result', async () => {
  const provider = agentProvider((request) =>
    toolTexts(request).length === 0
      ? { calls: [{ name: 'text_Template', args: { template: 'of the tool' }, id: 'first' }] }
      : { say: ['done'] },
  )
  await using server = await startServer({ providers: [provider] })
  await using client = await connect(server)
  client.command('run_job', { graph: agent({ tools: ['text.Template'] }) })
  const called = await client.next({ type: 'tool_call_update' })
  assert.equal(called.name, 'text_Template')
  const result = await client.next({ type: 'tool_result_update' })
  assert.equal(result.tool_call_id, called.tool_call_id)
  assert.match(JSON.stringify(result), /of the tool/)
  await client.collect(called.job_id!)
})
