// Workflows as models: the answer is the text output of an ordinary job. The end of the job ends the answer, but not
// the reverse.

import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { errorCatalogue } from '../../../generated/errors.ts'
import type { JobSnapshot } from '../../../generated/types.ts'
import { WorkflowModelService } from '../../../src/completions/workflow-models/service.ts'
import { userShareKey } from '../../../src/db/owner-scope.ts'
import type { ServiceError } from '../../../src/errors.ts'
import { systemPlatform } from '../../../src/platform.ts'
import { runToCompletion, TimeSliceScheduler } from '../../../src/shared/time-slices.ts'
import { call, type ErrorBody } from '../../helpers/http.ts'
import { type PricedProvider, pricedProvider } from '../../helpers/priced-provider.ts'
import { startServer, type TestServer, until } from '../../helpers/server.ts'
import { gate } from '../../http/kit.ts'
import { answer, asking, conversing, hello, OWNER, STRANGER, said, says, stored, waiting } from '../workflow-kit.ts'

const coded = (code: string, param?: string) => (error: ServiceError) => {
  assert.equal(error.code, code, error.stack)
  if (param !== undefined) assert.equal(error.param, param)
  return true
}

async function status({ context }: TestServer, job_id: string): Promise<string> {
  return context.runs.jobs.snapshot(await context.runs.jobs.get(OWNER, job_id)).status
}

describe('the answer of a workflow', () => {
  let server: TestServer
  let provider: PricedProvider
  before(async () => {
    provider = pricedProvider({ answer: () => ({ usage: { input_tokens: 7, output_tokens: 3 } }) })
    server = await startServer({ providers: [provider] })
  })
  after(() => server[Symbol.asyncDispose]())

  test('names its job first, then has the text output, then an estimate of the usage', async () => {
    const id = await stored(server, hello())
    const used: unknown[] = []
    const { job_id, texts, end } = await said(answer(server, id, says('Bob', 'Ada'), { used: used as never[] }))
    assert.deepEqual(texts, ['Hello, Ada!'])
    assert.equal(end.finish_reason, 'stop')
    assert.deepEqual(end.use, { model: `workflow/${id}`, input_tokens: 1, output_tokens: 3, cost: null })
    assert.deepEqual(used, [end.use])
    const { row } = await server.context.runs.jobs.get(OWNER, job_id)
    assert.deepEqual([row.workflow_id, row.status], [id, 'completed'])
  })

  test('comes in the pieces of a streamed output, with the usage and cost of its models', async () => {
    const id = await stored(server, asking('priced/small'))
    const { texts, end } = await said(answer(server, id))
    assert.deepEqual(texts, ['one', ' two', ' three'])
    const cost = { amount: (7 * 1 + 3 * 2) / 1e6, currency: 'USD', reported: false }
    assert.deepEqual(end.use, { model: `workflow/${id}`, input_tokens: 7, output_tokens: 3, cost })
  })

  test('uses all messages if its input accepts them', async () => {
    const id = await stored(server, conversing('priced/small'))
    const content = [
      { type: 'text' as const, text: 'What' },
      { type: 'text' as const, text: 'now?' },
    ]
    const messages = [
      { role: 'developer' as const, content: 'Be brief.' },
      { role: 'user' as const, content: 'Hello' },
      { role: 'assistant' as const, content: 'Hello.' },
      { role: 'user' as const, content },
    ]
    await said(answer(server, id, { model: 'any', messages }))
    assert.deepEqual(provider.calls.at(-1)?.request.messages, [
      { role: 'system', content: 'Be brief.' },
      { role: 'user', content: 'Hello' },
      { role: 'assistant', content: 'Hello.' },
      { role: 'user', content: 'What\nnow?' },
    ])
  })

  test('has no text if its output got no value', async () => {
    const of = hello()
    const edges = of.graph.edges.filter(({ target }) => target !== 'out')
    const idle = { id: 'if', type: 'control.If', data: { condition: false } }
    const nodes = [...of.graph.nodes, idle, { id: 'text', type: 'text.Template', data: { template: '{{a}}' } }]
    const more = [
      { source: 'of', sourceHandle: 'output', target: 'if', targetHandle: 'value' },
      { source: 'if', sourceHandle: 'if_true', target: 'text', targetHandle: 'a' },
      { source: 'text', sourceHandle: 'output', target: 'out', targetHandle: 'value' },
    ]
    const id = await stored(server, { ...of, graph: { nodes, edges: [...edges, ...more] } as never })
    const { texts, end } = await said(answer(server, id))
    assert.deepEqual([texts, end.use.output_tokens], [[], 0])
  })

  for (const [field, value] of Object.entries({
    tools: [{ type: 'function', function: { name: 'f' } }],
    n: 2,
    response_format: { type: 'json_object' },
    temperature: 0.5,
    seed: 1,
    stop: ['x'],
    max_completion_tokens: 5,
    logprobs: true,
    something_new: 1,
  })) {
    test(`is refused before a job starts if the request has ${field}`, async () => {
      const id = await stored(server, hello())
      const body = { ...says('Ada'), [field]: value }
      await assert.rejects(answer(server, id, body).next(), coded('INVALID_REQUEST', field))
      assert.deepEqual(runToCompletion(server.context.runs.jobs.listActive(OWNER)), [])
    })
  }

  test('ignores fields without an effect, and null fields', async () => {
    const id = await stored(server, hello())
    const harmless = { stream: true, user: 'ada', metadata: { a: 'b' }, n: 1, tools: [], temperature: null, stop: null }
    assert.deepEqual((await said(answer(server, id, { ...says('Ada'), ...harmless }))).texts, ['Hello, Ada!'])
  })

  test('needs a message of the user, and only supported messages', async () => {
    const [text, list] = [await stored(server, hello()), await stored(server, conversing('priced/small'))]
    const system = { role: 'system' as const, content: 'x' }
    const tool = { role: 'tool' as const, content: 'x', tool_call_id: 'a' }
    const picture = { type: 'image_url' as const, image_url: { url: 'data:image/png;base64,AAAA' } }
    const call = { id: 'a', type: 'function' as const, function: { name: 'f', arguments: '{}' } }
    const refused: [string, unknown[], string][] = [
      [text, [system], 'messages'],
      [text, [{ role: 'user', content: [picture] }], 'messages[0].content[0]'],
      [text, [{ role: 'user', content: 'x', name: 'ada' }], 'messages[0].name'],
      [list, [system, tool], 'messages[1].role'],
      [list, [{ role: 'assistant', content: null, tool_calls: [call] }], 'messages[0].tool_calls'],
    ]
    for (const [id, messages, param] of refused)
      await assert.rejects(
        answer(server, id, { model: 'any', messages: messages as never }).next(),
        coded('INVALID_REQUEST', param),
      )
  })

  test('comes only from models: workflows of the owner and bundled examples', async () => {
    const id = await stored(server, hello())
    const number = await stored(server, hello({ name: 'prompt' }))
    const { record } = await server.context.runs.workflows.get(OWNER, number)
    const nodes = record.graph.nodes.map((one) => (one.id === 'in' ? { ...one, type: 'input.Integer' } : one))
    await server.context.runs.workflows.update(OWNER, number, { ...hello(), graph: { ...record.graph, nodes } }, null)
    const { workflows } = server.context.runs
    const { workflow_models } = server.context.models
    const models = new Set((await workflow_models.list(OWNER)).map(({ workflow_id }) => workflow_id))
    const bundled = workflows.examples().map((example) => example.id)
    const missing = coded('MODEL_NOT_FOUND', 'model')
    for (const workflow of ['missing', number, ...bundled.filter((one) => !models.has(one))]) {
      await assert.rejects(answer(server, workflow).next(), missing)
      assert.throws(() => workflow_models.get(OWNER, workflow), missing)
    }
    const others = await stored(server, { ...hello(), access: 'public' }, STRANGER)
    for (const [workflow, owner] of [
      [id, STRANGER],
      [others, OWNER],
    ] as const) {
      await assert.rejects(answer(server, workflow, says('x'), { owner }).next(), missing)
      assert.throws(() => workflow_models.get(owner, workflow), missing)
    }
    const { job_id, texts } = await said(answer(server, 'greeting', says('Ada'), { owner: STRANGER }))
    assert.deepEqual(texts, ['Hello, Ada!'])
    assert.equal((await server.context.runs.jobs.get(STRANGER, job_id)).row.workflow_id, 'greeting')
  })

  test('is 422 with every problem where the workflow cannot run', async () => {
    const broken = hello()
    broken.graph.nodes.push({ id: 'a', type: 'no.Such' } as never, { id: 'b', type: 'no.Other' } as never)
    const id = await stored(server, broken)
    await assert.rejects(answer(server, id).next(), (error: ServiceError) => {
      assert.deepEqual([error.status, error.problems.length], [422, 2])
      return coded('INVALID_WORKFLOW_GRAPH')(error)
    })
  })
})

describe('a job that answers', () => {
  test('sends output while it runs, and runs on when the client disconnects', async () => {
    const opened = Promise.withResolvers<void>()
    const provider = pricedProvider({ answer: () => ({ waits: { before: 1, for: () => opened.promise } }) })
    await using server = await startServer({ providers: [provider] })
    const id = await stored(server, asking('priced/small'))
    const [parts, leaving] = [answer(server, id), new AbortController()]
    const others = answer(server, id, says('x'), { signal: leaving.signal })
    const jobs: string[] = []
    for (const one of [parts, others]) {
      const [job, text] = [await one.next(), await one.next()]
      assert.deepEqual([text.value], [{ type: 'text', text: 'one' }])
      if (job.value?.type === 'job') jobs.push(job.value.job_id)
    }
    await parts.return()
    const next = others.next()
    leaving.abort(new Error('gone'))
    await assert.rejects(next, /gone/)
    for (const job of jobs) assert.equal(await status(server, job), 'running')
    opened.resolve()
    for (const job of jobs) await until('the job', async () => (await status(server, job)) === 'completed')
    assert.equal(provider.calls.length, 2)
  })

  test('ends the answer with its error and its id, after the output so far', async () => {
    const heard = Promise.withResolvers<void>()
    const waits = { before: 1, for: () => heard.promise }
    const provider = pricedProvider({ answer: () => ({ waits, fails: { before: 1, with: new Error('sk-secret') } }) })
    await using server = await startServer({ providers: [provider] })
    const parts = answer(server, await stored(server, asking('priced/small')))
    const job = (await parts.next()).value
    const job_id = job?.type === 'job' ? job.job_id : ''
    assert.deepEqual((await parts.next()).value, { type: 'text', text: 'one' })
    heard.resolve()
    await assert.rejects(parts.next(), (error: ServiceError) => {
      assert.match(error.publicMessage, new RegExp(`"${job_id}" failed: .*priced`))
      assert.doesNotMatch(error.publicMessage, /sk-secret/)
      return coded('JOB_FAILED')(error)
    })
  })

  test('ends the answer if it is cancelled', async () => {
    const gated = gate()
    await using server = await startServer({ registry: gated.registry })
    const graph = waiting('test.Gate', {}, 'output')
    const parts = answer(server, await stored(server, graph))
    const job = (await parts.next()).value
    const next = parts.next()
    await server.context.runs.jobs.cancel(OWNER, job?.type === 'job' ? job.job_id : '')
    gated.open()
    await assert.rejects(next, coded('JOB_CANCELLED'))
  })

  test('is an error of the request if its job is cancelled', async () => {
    const gated = gate()
    await using server = await startServer({ registry: gated.registry })
    const id = await stored(server, waiting('test.Gate', {}, 'output'))
    const body = { model: `workflow/${id}`, messages: [{ role: 'user', content: 'Ada' }] }
    const answer = call<ErrorBody>(server, 'POST', '/v1/chat/completions', { body })
    const { jobs } = server.context.runs
    const listed = async () => (await call<JobSnapshot[]>(server, 'GET', '/api/jobs')).body[0]
    await jobs.cancel(OWNER, (await until('the job', listed)).job_id)
    gated.open()
    const { status, text } = await answer
    assert.match(text, /"job_cancelled"/)
    assert.equal(status, errorCatalogue.JOB_CANCELLED.status)
  })

  test('ends the answer if it waits for a person, and can be resumed', async () => {
    await using server = await startServer()
    const parts = answer(server, await stored(server, waiting('human.Approval', { message: 'Go on?' }, 'approved')))
    const job = (await parts.next()).value
    const job_id = job?.type === 'job' ? job.job_id : ''
    await assert.rejects(parts.next(), (error: ServiceError) => {
      assert.match(error.publicMessage, new RegExp(`"${job_id}" waits for an approval.*/api/jobs/${job_id}/resume`))
      return coded('JOB_SUSPENDED')(error)
    })
    assert.equal(await status(server, job_id), 'suspended')
    const yes = { node_id: null, name: null, value: true, at: '/body' }
    await server.context.runs.jobs.resume(OWNER, job_id, yes)
    await until('the job', async () => (await status(server, job_id)) === 'completed')
  })

  test('keeps the answer open while it waits for a time', async () => {
    let ahead = 0
    const real = systemPlatform()
    const now = () => real.now() + ahead
    const elapsed = () => real.elapsed!() + ahead
    const platform = { ...real, now, elapsed, timestamp: () => new Date(now()).toISOString() }
    await using server = await startServer({ platform })
    const id = await stored(server, waiting('control.Delay', { seconds: 3_600 }, 'output'))
    const [parts, later] = [answer(server, id), answer(server, id)]
    const waits = async (job: typeof parts) => {
      const { value } = await job.next()
      const job_id = value?.type === 'job' ? value.job_id : ''
      await until('the job', async () => (await status(server, job_id)) === 'suspended')
    }
    await waits(parts)
    const next = parts.next()
    ahead = 3_600_000
    // Another job that starts to wait makes the alarm check again.
    await waits(later)
    assert.deepEqual((await next).value, { type: 'text', text: 'Hello, Ada!' })
    assert.equal((await parts.next()).value?.type, 'end')
  })

  test('ends the answer when the server stops', async () => {
    const gated = gate()
    await using server = await startServer({ registry: gated.registry })
    const parts = answer(server, await stored(server, waiting('test.Gate', {}, 'output')))
    await parts.next()
    const next = parts.next()
    const [told] = await Promise.all([next.catch((error: ServiceError) => error), server.close(0)])
    // The job goes on: a client's retry would run it twice.
    const error = told as ServiceError
    coded('OUTCOME_UNKNOWN')(error)
    const { headers, job_id } = error
    assert.deepEqual(headers, { Location: `/api/jobs/${job_id}`, 'X-Should-Retry': 'false' })
    gated.open()
  })
})

test('the bundled examples are listed for one user while an earlier request of another user still reads many workflows', async () => {
  await using server = await startServer()
  const { workflows, jobs, events } = server.context.runs
  const { slices } = server.context.schedulers
  const reading = new TimeSliceScheduler()
  const models = new WorkflowModelService({ workflows, jobs, events, slices, reading })
  let isOver = false
  const much = reading.run(
    userShareKey(STRANGER),
    (function* () {
      while (!isOver) yield
    })(),
  )
  const first = models.list(STRANGER)
  assert.ok((await models.list(OWNER)).length > 0)
  isOver = true
  await Promise.all([much, first])
})
