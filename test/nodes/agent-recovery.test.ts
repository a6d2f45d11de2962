// Agents whose server is killed: finished turns and tool calls are not repeated, and the text continues where it stopped.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import type { ResultManifest } from '../../generated/types.ts'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { Provider } from '../../src/models/provider.ts'
import { graph, node, output, sink, testType, value, withTypes } from '../engine/kit.ts'
import { agentProvider, type Move, toolTexts } from '../helpers/agent-provider.ts'
import { inFolder } from '../helpers/folder.ts'
import { call as http } from '../helpers/http.ts'
import { longestTurn } from '../helpers/loop.ts'
import { serve } from '../helpers/process.ts'
import { mostMs } from '../helpers/processor.ts'
import { atRealSize } from '../helpers/scale.ts'
import { startServer, until } from '../helpers/server.ts'
import { ended, OWNER, submit } from '../jobs/kit.ts'
import { resultOf, run, snapshot, stored } from '../models/kit.ts'

const SCRIPT = fileURLToPath(new URL('agent-server.ts', import.meta.url))

function agent(data: object): Graph {
  const names = ['text', 'answer', 'steps']
  return graph(
    [node('agent', 'agent.Run', { model: 'agent/brain', ...data }), ...names.map(sink)],
    names.map((name) => `agent.${name}->${name}.value`),
  )
}

function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').trim().split('\n')
  } catch {
    return []
  }
}

/** Runs an agent in a server, kills the server once the log has these lines and the history these texts, and resumes in another server. */
async function killed(folder: string, data: object, lines: string[], texts: string[]) {
  const log = join(folder, 'log')
  const environment = { AGENT_LOG: log }
  let job_id: string
  {
    await using server = await serve(folder, environment, SCRIPT)
    job_id = (await run(server, agent(data), { background: true })).job_id
    await until('the lines', () => lines.every((line) => linesOf(log).includes(line)))
    await until('the texts', async () => {
      const answer = await fetch(`${server.url}/api/jobs/${job_id}/events`, { headers: { Accept: 'application/json' } })
      const text = await answer.text()
      return texts.every((one) => text.includes(one))
    })
    server.kill('SIGKILL')
    await server.ended()
  }
  await using server = await serve(folder, environment, SCRIPT)
  await until('its end', async () => (await snapshot(server, job_id)).finished_at !== null)
  const { status, error } = await snapshot(server, job_id)
  const result = status === 'completed' ? await resultOf(server, job_id) : null
  return { result: result!, error, lines: linesOf(log) }
}

describe('an agent whose server is killed', () => {
  test(
    'while tools work repeats neither finished calls nor a call that must not run twice',
    inFolder(async (folder) => {
      const data = { prompt: 'tools', tools: ['test.Mark', 'test.Once'] }
      const { result, lines } = await killed(folder, data, ['c hang', 'd hang'], ['One.', 'Two.'])
      const count = (line: string) => lines.filter((one) => one.startsWith(line)).length
      assert.deepEqual(
        ['a', 'b', 'c hang', 'd hang', 'turn tools 0', 'turn tools 2', 'turn tools 4'].map(count),
        [1, 1, 2, 1, 1, 1, 1],
      )
      const { text, answer, steps } = result.outputs as { text: string[]; answer: string; steps: { error?: string }[] }
      assert.equal(text.join(''), 'One.\n\nTwo.\n\nAll done.')
      assert.equal(answer, 'All done.')
      const errors = steps.flatMap(({ error }) => error ?? [])
      assert.equal(errors.length, 1)
      assert.match(errors[0]!, /^The call was interrupted, and nobody knows whether it took effect/)
      assert.deepEqual([result.cost!.amount, result.provenance.models], [3, ['agent/brain']])
    }),
  )

  test(
    'counts the cost of failed attempts before, so that its limit does not start anew',
    inFolder(async (folder) => {
      const data = { prompt: 'costly', max_cost: 4, retry: { attempts: 50, backoff_ms: 0 } }
      const { error, lines } = await killed(folder, data, ['asked', 'third asked'], [])
      assert.deepEqual(
        [error!.type, error!.message],
        ['limit_reached', 'The agent was stopped after 4 USD: max_cost is 4.'],
      )
      // The cost of the request that the kill interrupted is unknown.
      assert.equal(lines.filter((line) => line === 'asked').length, 5)
    }),
  )

  test(
    'in the middle of a sentence continues the sentence, without a missing or doubled word',
    inFolder(async (folder) => {
      const { result, lines } = await killed(folder, { prompt: 'words' }, ['turn words 0 hang'], ['The', ' answer'])
      assert.deepEqual((result.outputs.text as string[]).join(''), 'The answer is four.')
      assert.equal(result.outputs.answer, 'The answer is four.')
      assert.equal(lines.at(-1), 'turn words 0: user assistant user')
    }),
  )
})

test('a retry of a job whose agent failed takes over its turns and calls', async () => {
  let failures = 1
  let calls = 0
  const counted = testType('test.Count', {
    properties: [value],
    outputs: [output],
    retry_safe: false,
    run: async ({ value: given }) => {
      calls++
      return { output: given }
    },
  })
  const provider = agentProvider((request) => {
    const given = toolTexts(request).length
    if (given === 2 && failures-- > 0) throw new Error('down')
    return given < 2 ? { say: [`${given}`], calls: [{ name: 'test_Count', args: { value: given } }] } : { say: ['end'] }
  })
  await using server = await startServer({ providers: [provider], registry: withTypes(counted) })
  const job = submit(server, { graph: agent({ prompt: 'x', tools: ['test.Count'] }) })
  await job.settled()
  assert.deepEqual([job.row.status, provider.requests.length, calls], ['failed', 3, 2])
  const { row } = await server.context.runs.jobs.retry(OWNER, job.row.id)
  const again = await ended(server, row.id)
  assert.equal(again.status, 'completed', again.error ?? '')
  const { outputs, cost } = JSON.parse(again.result!) as ResultManifest
  assert.equal((outputs.text as string[]).join(''), '0\n\n1\n\nend')
  assert.deepEqual([provider.requests.length, calls, cost!.amount], [4, 2, 3])
})

/** Many calls in many turns, none of which takes long, and then a call that waits for an answer. */
function busy(turns: number, calls: number): Provider {
  const moves: Move[] = Array.from({ length: turns }, () => ({ calls: Array(calls).fill({ name: 'none', args: {} }) }))
  moves.push({ calls: [{ name: 'ask', args: {} }] }, { say: ['done'] })
  let turn = 0
  const provider = agentProvider(() => moves[turn++]!)
  // Conversations of this length are not kept.
  return { ...provider, complete: (request, call) => provider.complete({ ...request, messages: [] }, call) }
}

test('an agent that resumes does not block the event loop while it reads its remembered turns and calls', {
  skip: atRealSize,
}, async () => {
  await using server = await startServer({ providers: [busy(100, 64)] })
  const asks = graph([node('ask', 'control.WaitFor', { name: 'answer' }), sink('out')], ['ask.value->out.value'])
  const tools = [{ workflow_id: await stored(server, asks), name: 'ask' }]
  const job = submit(server, { graph: agent({ prompt: 'x', tools, max_steps: 1_000, max_failures: 1_000 }) })
  await job.settled()
  const { id } = job.row
  const goOn = async () => {
    const { status, text } = await http(server, 'POST', `/api/jobs/${id}/resume`, { body: { value: 'yes' } })
    assert.equal(status, 200, text)
    assert.equal((await ended(server, id)).status, 'completed')
  }
  const longest = await longestTurn(goOn)
  assert.ok(longest < mostMs(longest, 50), `it was held for ${longest} ms`)
})
