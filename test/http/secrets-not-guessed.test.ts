// Guessing the beginning of a secret of the service reveals nothing on any transport: answers are the same with and without that secret.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chunksIn, post } from '../completions/kit.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer, until } from '../helpers/server.ts'
import { connect } from '../helpers/socket.ts'
import { edge, node } from './kit.ts'

const KEY = 'sk-proj-hT7QwZ0a9LmX2'
const MASTER = 'Zq8wPk3vTn5xRb7mYc2hLd9f'
/** Up to the character before the threshold of each. */
const GUESSES = [
  's s sk s',
  `say ${KEY.slice(0, 9)} or sk-proj-i`,
  `say ${KEY.slice(0, 17)}`,
  `${MASTER.slice(0, 11)} Zq8x`,
  `it is ${btoa(KEY).slice(0, 16)}`,
]

async function answers(server: TestServer): Promise<unknown> {
  const told: unknown[] = []
  await using client = await connect(server, { mode: 'text' })
  for (const [at, content] of GUESSES.entries()) {
    const asked = { model: 'builtin/echo', messages: [{ role: 'user', content }] }
    const streamed = await post(server, JSON.stringify({ ...asked, stream: true }))
    const whole = await post(server, JSON.stringify(asked))
    told.push(chunksIn(streamed.text).map(({ choices }) => choices[0]?.delta.content))
    told.push(JSON.parse(whole.text).choices[0].message.content)
    const thread = await call<{ id: string }>(server, 'POST', '/api/threads', { body: {} })
    client.command('chat_message', { thread_id: thread.body.id, content, model: 'builtin/echo' }, `chat${at}`)
    const frames = () => client.frames.filter((one) => one.type === 'chunk' && one.thread_id === thread.body.id)
    await until('the end of the answer', () => frames().some(({ done }) => done))
    const joined = frames().map((one) => one.content)
    told.push(joined.join(''))
    const list = content.split(' ')
    const nodes = [node('each', 'control.ForEach', { list }), node('out', 'output.Output', { name: 'o' })]
    client.command('run_job', { job_id: `job${at}`, graph: { nodes, edges: [edge('each.item', 'out.value')] } })
    const job = await client.collect(`job${at}`)
    told.push(job.filter(({ type }) => type === 'output_update').map(({ value }) => value))
  }
  return told
}

test('the beginning of a secret of the service gets the same answer as without the secret', async () => {
  await using known = await startServer({ environment: { OPENAI_API_KEY: KEY, SECRETS_MASTER_KEY: MASTER } })
  await using other = await startServer({ environment: { SECRETS_MASTER_KEY: 'another-master-key-0815' } })
  const told = await answers(known)
  assert.deepEqual(told, await answers(other))
  assert.ok(!JSON.stringify(told).includes('[redacted]'))
})
