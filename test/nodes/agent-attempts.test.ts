// Agents that are retried: their limits count all attempts and are final, and a tool call that may have taken effect is not repeated.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as pause } from 'node:timers/promises'
import type { ResultManifest } from '../../generated/types.ts'
import { graph, node, output, sink, testType, value, withTypes } from '../engine/kit.ts'
import { type AgentProvider, agentProvider, type Move, toolTexts } from '../helpers/agent-provider.ts'
import { FolderCopies, inFolder } from '../helpers/folder.ts'
import { startServer, until } from '../helpers/server.ts'
import { ended, OWNER, submit } from '../jobs/kit.ts'

const MANY = { attempts: 60, backoff_ms: 0 }

const agent = (data: object) =>
  graph(
    [
      node('agent', 'agent.Run', { model: 'agent/brain', prompt: 'do it', retry: MANY, ...data }),
      sink('answer'),
      sink('messages'),
    ],
    ['agent.answer->answer.value', 'agent.messages->messages.value'],
  )

/** A turn that costs something, says nothing, and fails. */
const FAILS: Move = { calls: [{ name: 'none', args: { some: 'thing' } }], fails: new Error('down') }

/** The type and the message of the error. */
async function failure(provider: AgentProvider, data: object): Promise<[type: string, message: string]> {
  await using server = await startServer({ providers: [provider] })
  const row = await ended(server, submit(server, { graph: agent(data) }).row.id)
  const { type, message } = JSON.parse(row.error!)
  return [type, message]
}

describe('the limits of an agent', () => {
  test('count the cost of failed turns', async () => {
    const provider = agentProvider(() => FAILS)
    const [type, message] = await failure(provider, { max_cost: 3 })
    assert.deepEqual([type, message], ['limit_reached', 'The agent was stopped after 3 USD: max_cost is 3.'])
    assert.equal(provider.requests.length, 3)
  })

  test('count the tokens of failed turns, and leave the next turn the rest', async () => {
    const provider = agentProvider(() => FAILS)
    const [type] = await failure(provider, { max_tokens: 40 })
    assert.equal(type, 'limit_reached')
    const left = provider.requests.map(({ max_completion_tokens }) => max_completion_tokens!)
    assert.ok(left.length > 1 && left.length < 20, left.join(' '))
    assert.equal(left[0], 40)
    assert.ok(
      left.every((one, at) => at === 0 || one < left[at - 1]!),
      left.join(' '),
    )
  })

  test('count the time of all attempts', async () => {
    const provider = agentProvider(() => ({ ...FAILS, waits: { before: 0, for: () => pause(150) } }))
    const [type, message] = await failure(provider, { max_seconds: 0.4 })
    assert.deepEqual([type, message], ['limit_reached', 'The agent was stopped after 0.4 s: max_seconds is 0.4.'])
    // However slow the machine is: three requests take longer than 0.4 s.
    assert.ok(provider.requests.length <= 3, `${provider.requests.length}`)
  })

  test('are final: an agent that reached one is not retried', async () => {
    const forever = (signal: AbortSignal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    const call = { calls: [{ name: 'text_Template', args: { template: 'x' } }] }
    const cases: [Move, object, string, number][] = [
      [{ waits: { before: 0, for: forever } }, { max_seconds: 0.05 }, 'limit_reached', 1],
      [call, { max_cost: 2 }, 'limit_reached', 2],
      [call, { max_steps: 3 }, 'too_many_steps', 3],
    ]
    for (const [move, limit, expected, requests] of cases) {
      const provider = agentProvider(() => move)
      const [type] = await failure(provider, {
        tools: ['text.Template'],
        retry: { attempts: 5, backoff_ms: 0 },
        ...limit,
      })
      assert.deepEqual([type, provider.requests.length], [expected, requests])
    }
  })

  test('also count the usage before a retry of the job', async () => {
    const provider = agentProvider(() => FAILS)
    await using server = await startServer({ providers: [provider] })
    const job = submit(server, { graph: agent({ max_cost: 3, retry: { attempts: 2, backoff_ms: 0 } }) })
    await job.settled()
    assert.equal(provider.requests.length, 2)
    const { row } = await server.context.runs.jobs.retry(OWNER, job.row.id)
    const again = await ended(server, row.id)
    assert.equal(JSON.parse(again.error!).type, 'limit_reached')
    assert.equal(provider.requests.length, 3)
  })
})

/** Runs an agent in attempts of half a second, with a tool that hangs the first time. */
async function cutOff(retry_safe: boolean): Promise<{ made: number; answer: string }> {
  let made = 0
  const type = testType('test.Slow', {
    properties: [value],
    outputs: [output],
    retry_safe,
    run: async (_inputs, { signal }) => {
      if (++made === 1) await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
      return { output: 'sent' }
    },
  })
  const provider = agentProvider((request) => {
    const [told] = toolTexts(request)
    return told === undefined ? { calls: [{ name: 'test_Slow', args: { value: 1 } }] } : { say: [told] }
  })
  await using server = await startServer({ providers: [provider], registry: withTypes(type) })
  const data = { tools: ['test.Slow'], timeout_seconds: 0.5 }
  const row = await ended(server, submit(server, { graph: agent(data) }).row.id)
  assert.equal(row.status, 'completed', row.error ?? '')
  return { made, answer: String((JSON.parse(row.result!) as ResultManifest).outputs.answer) }
}

describe('a call that was cut off with its attempt', () => {
  test('is not repeated if it may have taken effect, and the model is told so', async () => {
    const { made, answer } = await cutOff(false)
    // On a slow machine the attempt may time out just before the tool begins.
    assert.ok(made <= 1, `${made}`)
    assert.match(answer, /^Error: The call was interrupted, and nobody knows whether it took effect/)
  })

  test('is repeated if its node is safe to retry', async () => {
    const { made, answer } = await cutOff(true)
    assert.ok(made > 1)
    assert.equal(answer, 'sent')
  })
})

describe('the ids of calls', () => {
  const call = (id?: string) => ({
    name: 'text_Template',
    args: { template: 'x' },
    ...(id === undefined ? {} : { id }),
  })
  type Message = { tool_calls?: { id: string }[]; tool_call_id?: string }
  const idsOf = (messages: readonly unknown[]) =>
    (messages as Message[]).flatMap(({ tool_calls = [] }) => tool_calls.map(({ id }) => id))

  test('that a provider omits or repeats are generated, and are unique over all runs', async () => {
    const provider = agentProvider((request) => {
      const given = toolTexts(request).length
      return given < 4 ? { calls: [call(), call('same')] } : { say: ['done'] }
    })
    await using server = await startServer({ providers: [provider] })
    const ids: string[] = []
    for (const _ of [1, 2]) {
      const row = await ended(server, submit(server, { graph: agent({ tools: ['text.Template'] }) }).row.id)
      const { messages } = (JSON.parse(row.result!) as ResultManifest).outputs as { messages: Message[] }
      const own = idsOf(messages)
      assert.deepEqual([own.length, own.filter((id) => id === 'same').length], [4, 1])
      assert.deepEqual(
        messages.flatMap(({ tool_call_id }) => tool_call_id ?? []),
        own,
      )
      ids.push(...own.filter((id) => id !== 'same'))
    }
    assert.equal(new Set(ids).size, 6, ids.join(' '))
    for (const id of ids) assert.match(id, /^call_[0-9a-f]{24}$/)
  })

  test(
    'stay the same after an interruption, and later ids differ from them',
    inFolder(async (data_dir) => {
      using copies = new FolderCopies(data_dir)
      let hangs = true
      const provider = agentProvider((request) => {
        const given = toolTexts(request).length
        const waits = { before: 0, for: async () => (hangs ? await new Promise(() => {}) : null) }
        return given < 2 ? { calls: [call()], ...(given === 1 ? { waits } : {}) } : { say: ['done'] }
      })
      const settings = { providers: [provider] }
      let job_id: string
      {
        await using first = await startServer({ data_dir, ...settings })
        const job = submit(first, { graph: agent({ tools: ['text.Template'] }) })
        job_id = job.row.id
        await until('the second turn', () => provider.requests.length === 2)
        await job.flushed()
        copies.take()
        job.cancel()
      }
      hangs = false
      await using second = await startServer({ data_dir: copies.paths[0]!, ...settings })
      const row = await ended(second, job_id)
      assert.equal(row.status, 'completed', row.error ?? '')
      const [before] = idsOf(provider.requests[1]!.messages)
      const { messages } = (JSON.parse(row.result!) as ResultManifest).outputs as { messages: Message[] }
      const [kept, made] = idsOf(messages)
      assert.equal(kept, before)
      assert.notEqual(made, kept)
    }),
  )
})
