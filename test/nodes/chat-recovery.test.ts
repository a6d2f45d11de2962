// Nodes that make several model calls and are interrupted in between: finished calls are not repeated, and interrupted calls are not
// repeated automatically.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Graph } from '../../src/engine/compile/graph.ts'
import type { OutputValues } from '../../src/engine/node-api/firing-forms.ts'
import type { FiringStep, NodeContext } from '../../src/engine/node-api/node-context.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { graph, node, sink } from '../engine/kit.ts'
import { FolderCopies, inFolder } from '../helpers/folder.ts'
import { type PricedOptions, type PricedProvider, pricedProvider } from '../helpers/priced-provider.ts'
import { type TestServer, until } from '../helpers/server.ts'
import { OWNER, startGated, submit } from '../jobs/kit.ts'
import { resultOf, snapshot } from '../models/kit.ts'
import { services } from './chat-kit.ts'
import { context } from './context.ts'

const last = ({ messages }: { messages: readonly { content?: unknown }[] }) => String(messages.at(-1)!.content)
const pending = () => new Promise(() => {})

async function ended(server: TestServer, job_id: string): Promise<string> {
  await until('its end', async () => (await snapshot(server, job_id)).finished_at !== null)
  return (await snapshot(server, job_id)).error?.type ?? 'none'
}

/** `n -> out`, with the handles of this node. */
function only(type: string, data: Record<string, unknown>, handles: readonly string[]): Graph {
  const nodes = [node('n', type, { model: 'priced/small', ...data }), ...handles.map(sink)]
  return graph(
    nodes,
    handles.map((name) => `n.${name}->${name}.value`),
  )
}

interface Interrupted {
  /** The error of the job that resumed, and the number of calls that it made. */
  readonly error: string
  readonly unasked: number
  /** The outputs of a retry, and its requests. */
  readonly outputs: Record<string, unknown>
  readonly asked: readonly string[]
}

/** Runs until `cut`, resumes in a server on a copy of the folder at that time, and retries the job. */
async function interrupted(folder: string, of: Graph, first: PricedProvider, cut: () => boolean): Promise<Interrupted> {
  using copies = new FolderCopies(folder)
  const answer: PricedOptions['answer'] = () => ({ pieces: ['{"label":', ' "b"}'] })
  const second = pricedProvider({ answer, embed: (text) => [text.length, 1] })
  let job_id: string
  {
    await using server = await startGated({ data_dir: folder, providers: [first] })
    const job = submit(server, { graph: of })
    job_id = job.row.id
    await until('the cut', cut)
    await job.flushed()
    copies.take()
  }
  await using server = await startGated({ data_dir: copies.paths[0]!, providers: [second] })
  const error = await ended(server, job_id)
  const unasked = second.calls.length + second.embedded.length
  const { row } = await server.context.runs.jobs.retry(OWNER, job_id)
  assert.equal(await ended(server, row.id), 'none')
  const { outputs } = await resultOf(server, row.id)
  const asked = [
    ...second.calls.map(({ request }) => last(request)),
    ...second.embedded.map(({ input }) => String(input)),
  ]
  return { error, unasked, outputs, asked }
}

describe('a node that was interrupted in one of its calls', () => {
  test(
    'keeps the finished summaries of pieces',
    inFolder(async (folder) => {
      const text = ['0', '1', '2'].map((digit) => `${digit} `.repeat(200)).join('\n\n')
      const first = pricedProvider({
        answer: (request) => (last(request).startsWith('1') ? { waits: { before: 1, for: pending } } : {}),
      })
      const of = only('chat.Summarize', { text, piece_length: 500 }, ['text', 'usage'])
      const cut = () => first.calls.filter((call) => call.ended).length === 2
      const { error, unasked, outputs, asked } = await interrupted(folder, of, first, cut)
      assert.deepEqual([error, unasked], ['node_interrupted', 0])
      assert.deepEqual(
        asked.map((sent) => sent.slice(0, 13)),
        ['1 1 1 1 1 1 1', 'one two three'],
      )
      assert.deepEqual(outputs.text, ['{"label":', ' "b"}'])
      assert.equal((outputs.usage as { calls: number }).calls, 4)
    }),
  )

  test(
    'does not repeat the call of an invalid answer',
    inFolder(async (folder) => {
      const first = pricedProvider({
        answer: (_, at) => (at === 0 ? { pieces: ['neither'] } : { waits: { before: 0, for: pending } }),
      })
      const of = only('chat.Classify', { text: 'x', labels: ['a', 'b'] }, ['label', 'usage'])
      const result = await interrupted(folder, of, first, () => first.calls.length === 2)
      assert.deepEqual([result.error, result.unasked, result.outputs.label], ['node_interrupted', 0, 'b'])
      assert.equal(result.asked.length, 1)
      assert.match(result.asked[0]!, /^That does not fit/)
    }),
  )

  test(
    'keeps the finished vectors',
    inFolder(async (folder) => {
      const texts = Array.from({ length: 101 }, (_, at) => `t${at}`)
      const first = pricedProvider({ embed: (text, call) => (call === 100 ? new Promise(() => {}) : [text.length, 1]) })
      const of = only('vector.Index', { index: 'i', texts }, ['count', 'usage'])
      const result = await interrupted(folder, of, first, () => first.embedded.length === 2)
      assert.deepEqual([result.error, result.unasked, result.asked], ['node_interrupted', 0, ['t100']])
      assert.equal(result.outputs.count, 101)
    }),
  )
})

describe('a summary that had begun', () => {
  const summarize = builtinRegistry.get('chat.Summarize')!
  const inputs = {
    text: 'as it is',
    instructions: '',
    piece_length: 500,
    max_output_tokens: null,
    temperature: null,
    seed: null,
  }

  /** The items after the given ones, and the outputs of the node at its end. */
  async function goesOn(model: string, step: Partial<FiringStep>, given: readonly string[]) {
    const known: NodeContext = {
      ...context,
      services: services(),
      previousItems: given.map((text) => ({ text })),
      step: async (name) => ({ ...(await context.step(name)), ...step }),
    }
    const stream = summarize.run!({ model, ...inputs }, known) as AsyncGenerator<OutputValues, OutputValues, unknown>
    const pieces: unknown[] = []
    for (;;) {
      const { done, value } = await stream.next()
      if (done) return { pieces, usage: value.usage as Record<string, unknown> }
      pieces.push(value.text)
    }
  }

  test('continues its text, without a missing or doubled word', async () => {
    assert.deepEqual((await goesOn('builtin/echo', { wasInterrupted: true }, ['as', ' i'])).pieces, ['t', ' is'])
    assert.deepEqual((await goesOn('builtin/echo', {}, [])).pieces, ['as', ' it', ' is'])
  })

  test('and had ended is not requested again', async () => {
    const use = { model: 'm/n', input_tokens: 1, output_tokens: 2, cost: null }
    const ended = { previousResult: { value: { text: 'all of it', use, finish_reason: 'stop' } } }
    const { pieces, usage } = await goesOn('m/n', ended, ['all', ' of'])
    assert.deepEqual([pieces, usage.total_tokens, usage.cost], [[' it'], 3, null])
    assert.deepEqual((await goesOn('m/n', ended, ['all of it'])).pieces, [])
  })

  test('and may have been paid for is not requested again automatically', async () => {
    await assert.rejects(goesOn('m/n', { wasInterrupted: true }, ['a']), { type: 'node_interrupted' })
  })
})
