// http.*: large bodies are encoded in the time slices of a run, and large responses are read in a worker.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { InputValues, OutputValues } from '../../src/engine/node-api/firing-forms.ts'
import type { NodeContext } from '../../src/engine/node-api/node-context.ts'
import type { NodeType } from '../../src/engine/node-api/node-type.ts'
import type { ComputeTask } from '../../src/engine/node-api/services/compute.ts'
import { noServices } from '../../src/engine/node-api/services/no-services.ts'
import type { OutgoingRequest } from '../../src/engine/node-api/services/outgoing-http.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import type { Steps } from '../../src/shared/time-slices.ts'
import { graph, node, outputs, sink } from '../engine/kit.ts'
import { context as plainContext, runWith } from './context.ts'

const request = builtinRegistry.get('http.Request')!
const SECRET = 'sk-0123456789'

const inputsOf = (type: NodeType, given: InputValues): InputValues => ({
  ...Object.fromEntries(type.properties.map(({ name, default: value }) => [name, value ?? null])),
  url: 'http://a/',
  ...given,
})

/** The request for some inputs, and the number of steps in which it was made. */
async function sending(given: InputValues) {
  const sent: OutgoingRequest[] = []
  let most = 0
  const send = async (request: OutgoingRequest) => {
    sent.push(request)
    return { status: 200, headers: {}, body: Buffer.alloc(0), url: request.url }
  }
  const context: NodeContext = {
    ...plainContext,
    async inSlices<T>(steps: Steps<T>): Promise<T> {
      for (let count = 1; ; count++) {
        const step = steps.next()
        if (step.done) return step.value
        most = Math.max(most, count)
      }
    },
    services: { ...noServices, http: { send }, secret: async () => SECRET },
  }
  await runWith(request, inputsOf(request, { method: 'POST', ...given }), context)
  return { body: String(sent[0]!.body), steps: most }
}

/** The output of a run of one node for a response, and the types that ran in a worker for it. */
async function answered(node_type: string, output: string, answer: unknown) {
  const apart: string[] = []
  const headers = { 'content-type': 'application/json' }
  const body = Buffer.from(JSON.stringify(answer))
  const compute = {
    takes: ({ node_type }: { node_type: string }) => node_type === 'http.Request',
    async run({ node_type, inputs }: ComputeTask) {
      apart.push(node_type)
      return builtinRegistry.get(node_type)!.run!(inputs, plainContext) as OutputValues
    },
  }
  const http = { send: async ({ url }: OutgoingRequest) => ({ status: 200, headers, body, url }) }
  const of = graph([node('n', node_type, { url: 'http://a/' }), sink('out')], [`n.${output} -> out.value`])
  const services = { ...noServices, http, compute }
  return { apart, out: (await outputs(of, builtinRegistry, { services })).out }
}

test('a large body is encoded in many steps, with the same result', async () => {
  const value = { list: Array.from({ length: 100_000 }, (_, at) => at), text: '"\n'.repeat(400_000) }
  const { body, steps } = await sending({ body: value })
  assert.equal(body, JSON.stringify(value))
  assert.ok(steps > 20, `${steps} steps`)
})

test('bytes in a body are written as in JSON', async () => {
  const value = { small: new Uint8Array([1, 2]), large: new Uint8Array(10_000).fill(7), buffer: Buffer.alloc(5_000) }
  assert.equal((await sending({ body: value })).body, JSON.stringify(value))
})

test('a large form is encoded in many steps, with the same result', async () => {
  const form = { 'a b': `x${'😀é '.repeat(100_000)}`, lone: `\ud83d${'&'.repeat(40_000)}\ud83d`, list: ['1', '2'] }
  const expected = new URLSearchParams([...Object.entries({ ...form, list: '1' }), ['list', '2']] as [string, string][])
  const { body, steps } = await sending({ body: form, body_type: 'form' })
  assert.equal(body, expected.toString())
  assert.ok(steps > 10, `${steps} steps`)
})

test('base64 with white space is sent as the decoded bytes', async () => {
  const text = 'YWJj\nZGVm '.repeat(20_000)
  assert.equal((await sending({ body: text, body_type: 'base64' })).body, 'abcdef'.repeat(20_000))
})

test('secrets are inserted wherever they are named in a large body', async () => {
  const parts = Array.from({ length: 30_000 }, (_, at) => `${'x'.repeat(at % 29)}{{ secret:KEY }}`)
  const { body } = await sending({ body: parts.join('') })
  assert.equal(body, parts.join('').replaceAll('{{ secret:KEY }}', SECRET))
})

test('a large response is read in a worker, and a small one at once', async () => {
  const large = Array.from({ length: 50_000 }, (_, at) => at)
  const body = await answered('http.Request', 'body', large)
  assert.deepEqual(body.apart, ['http.Request'])
  assert.equal(JSON.stringify(body.out), JSON.stringify([large]))
  const items = await answered('http.Pages', 'item', large)
  assert.deepEqual(items.apart, ['http.Request'])
  assert.equal(JSON.stringify(items.out), JSON.stringify(large))
  assert.deepEqual(await answered('http.Request', 'body', [1]), { apart: [], out: [[1]] })
})
