// A workflow as a tool of a chat, whose run has no outcome yet: the model learns the id of the run, and that the run may continue.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { JobSnapshot } from '../../generated/types.ts'
import { type Bench, messagesOf, newThread, startChat } from '../chat/kit.ts'
import { graph, node } from '../engine/kit.ts'
import { call } from '../helpers/http.ts'
import { until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { Saboteur } from '../jobs/kit.ts'
import { stored } from './kit.ts'

const delayed = (seconds: number) =>
  graph(
    [
      node('in', 'input.String', { name: 'text', value: 'x' }),
      node('wait', 'control.Delay', { seconds }),
      node('out', 'output.Output', { name: 'out' }),
    ],
    ['in.output->wait.value', 'wait.output->out.value'],
  )

/** The result of the tool call for the model, and the id of the run. `meanwhile` is called as soon as the run starts. */
async function toldOf(bench: Bench, seconds: number, meanwhile = () => {}) {
  const { server, led } = bench
  await using client = await connect(server)
  const thread_id = await newThread(server)
  const id = await stored(server, delayed(seconds))
  client.command('chat_message', { thread_id, content: 'Run it', model: 'led/model', tools: [`workflow/${id}`] })
  const first = await led.answer(0)
  first.give({ type: 'tool_call', index: 0, id: 'id-0', name: `workflow_${id}`, arguments: '{}' })
  first.end('tool_calls')
  const job_id = await until('the run', async () => {
    const { body } = await call<JobSnapshot[]>(server, 'GET', '/api/jobs')
    return body.find(({ status }) => status === 'running' || status === 'suspended')?.job_id
  })
  meanwhile()
  const second = await led.answer(1)
  const message = (await messagesOf(server, thread_id))[2]!
  assert.deepEqual([message.status, message.job_id], ['failed', job_id])
  assert.equal(second.request.messages.at(-1)!.content, message.content)
  second.end()
  await client.next({ type: 'turn_update', status: 'completed' })
  return { text: message.content, job_id }
}

describe('a model gets the id of the run of a workflow', () => {
  test('whose outcome is unknown', async () => {
    await using bench = await startChat()
    using saboteur = new Saboteur(bench.server)
    const { text, job_id } = await toldOf(bench, 1, () => saboteur.break())
    const said = 'It is unknown whether the request was stored; check for its result before you send it again.'
    assert.equal(text, `Error: ${said} The run ${job_id} may go on, or have ended: do not start it again.`)
  })

  test('that takes too long', async () => {
    await using bench = await startChat({ chat_limits: { tool_ms: 1_000 } })
    const { text, job_id } = await toldOf(bench, 3_600)
    assert.equal(
      text,
      `Error: The tool took too long. The run ${job_id} may go on, or have ended: do not start it again.`,
    )
  })
})
