// Tests that every bundled example runs over HTTP with the outputs in its file.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import type { RunResult } from '../../generated/types.ts'
import { compileGraph } from '../../src/engine/compile/compiler.ts'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { loadExamples } from '../../src/workflows/examples.ts'
import { call } from '../helpers/http.ts'
import { startServer, type TestServer } from '../helpers/server.ts'
import { reader } from '../http/storage-kit.ts'
import { withoutPlaces } from './example-files.ts'
import { type ExamplesWeb, examplesWeb, PATHS } from './examples-web.ts'

let server: TestServer
let web: ExamplesWeb

before(async () => {
  server = await startServer({ environment: { SVC_HTTP_NODE_ALLOW: '127.0.0.1' } })
  web = await examplesWeb()
})

after(async () => {
  await server[Symbol.asyncDispose]()
  await web[Symbol.asyncDispose]()
})

async function run(id: string, params: Record<string, unknown>, path = PATHS[id]): Promise<RunResult> {
  const all = path === undefined ? params : { url: web.url + path, ...params }
  const { status, body } = await call<RunResult>(server, 'POST', `/api/workflows/${id}/run`, { body: { params: all } })
  assert.equal(status, 200)
  return body
}

async function read(uri: string): Promise<Buffer> {
  using http = reader(server)
  const { status, bytes } = await http.read('GET', uri)
  assert.equal(status, 200)
  return bytes
}

async function gives(id: string, params: Record<string, unknown>, outputs: unknown, path?: string) {
  const result = await run(id, params, path)
  assert.deepEqual([result.status, result.error], ['completed', null])
  assert.deepEqual(await withoutPlaces(result.outputs, read), outputs)
}

describe('runWorkflow with an example', () => {
  for (const { id, params, outputs } of loadExamples().values()) {
    test(`${id} gives its outputs`, () => gives(id, params, outputs))
  }
})

interface Case {
  id: string
  what: string
  params: Record<string, unknown>
  outputs: unknown
  path?: string
}

const CASES: readonly Case[] = [
  {
    id: 'convert-money',
    what: 'takes the rate of a server that answers, and warns of nothing',
    path: '/rate',
    params: {},
    outputs: { converted: 300, warning: null },
  },
  {
    id: 'expense-check',
    what: 'approves a small amount',
    params: { amount: 250 },
    outputs: { decision: 'Approved: 250 euro.' },
  },
  {
    id: 'loan-rate',
    what: 'finds no interest where there is none',
    params: { payment: 250, months: 40 },
    outputs: { yearly_percent: 0, interest: 0, rounds: 24 },
  },
  {
    id: 'free-login',
    what: 'makes names of its own for a name without letters',
    params: { name: '!!', taken: ['user'], count: 2 },
    outputs: { suggestions: ['user2', 'user3'] },
  },
  {
    id: 'paydays',
    what: 'knows leap years',
    params: { first: '2024-01-31', count: 2 },
    outputs: { paydays: ['Wed 31 Jan 2024', 'Thu 29 Feb 2024'] },
  },
  {
    id: 'working-days',
    what: 'finds none in a weekend',
    params: { from: '2026-12-26', to: '2026-12-27' },
    outputs: { count: 0, days: [] },
  },
  {
    id: 'sales-report',
    what: 'has no shares of nothing',
    params: { sales: 'region,amount\nNorth,0\n' },
    outputs: { report: 'region,sales,amount,percent\nNorth,1,0,0\n', total: 0 },
  },
  { id: 'log-errors', what: 'finds nothing in nothing', params: { log: '' }, outputs: { errors: 0, messages: [] } },
  {
    id: 'sensor-alerts',
    what: 'is silent without readings',
    params: { readings: [] },
    outputs: { alerts: [], count: 0, checked: 0 },
  },
  {
    id: 'text-changes',
    what: 'sees that nothing changed',
    params: { before: 'Tea', after: 'Tea' },
    outputs: { summary: '0 lines added, 0 removed, 100 % the same', patch: '' },
  },
]

describe('runWorkflow with an example and other params', () => {
  for (const { id, what, params, outputs, path } of CASES) {
    test(`${id} ${what}`, () => gives(id, params, outputs, path))
  }

  test('loan-rate refuses payments that come to less than the loan', async () => {
    const { status, error } = await run('loan-rate', { payment: 200 })
    assert.deepEqual([status, error?.node_id], ['failed', 'checked'])
  })

  test('open-issues requests no page that it does not need', async () => {
    const from = web.asked.length
    await run('open-issues', {})
    assert.deepEqual(web.asked.slice(from), ['/issues', '/issues?page=2'])
  })

  test('order-status retries after two failures, and gives up after four', async () => {
    const from = web.asked.length
    await run('order-status', {})
    assert.equal(web.asked.length - from, 3)
    const { status, error } = await run('order-status', {}, '/nothing-here')
    assert.equal(status, 'failed')
    assert.match(error!.message, /503/)
    assert.equal(web.asked.length - from, 3 + 4)
  })
})

describe('the examples', () => {
  test('are many, and each has the name of its file and a description of one sentence', () => {
    assert.ok(loadExamples().size >= 40)
    const names = [...loadExamples().values()].map(({ name }) => name)
    assert.equal(new Set(names).size, names.length)
    for (const { id, description, tags } of loadExamples().values()) {
      assert.match(id, /^[a-z]+(-[a-z]+)*$/)
      assert.match(description, /^[A-Z][^.]*\.$/, id)
      assert.ok(tags.length > 0, id)
    }
  })

  test('are valid without a warning, and small', () => {
    for (const { id, graph } of loadExamples().values()) {
      const { issues } = compileGraph(graph, builtinRegistry)
      assert.deepEqual(issues, [], id)
      assert.ok(graph.nodes.length <= 15, id)
    }
  })

  test('describe their inputs, and need none but a name to greet and an address to ask', () => {
    const required: string[] = []
    for (const { id, graph } of loadExamples().values()) {
      for (const { type, data } of graph.nodes.filter((node) => node.type.startsWith('input.'))) {
        assert.ok(data?.description, `${id}: ${type}`)
        if (data?.value === undefined) required.push(`${id} ${data?.name}`)
      }
    }
    const addresses = Object.keys(PATHS).map((id) => `${id} url`)
    assert.deepEqual(required.sort(), [...addresses, 'greeting name'].sort())
  })

  test('lie side by side in an editor', () => {
    for (const { id, graph } of loadExamples().values()) {
      const places = graph.nodes.map(({ ui_properties }) => JSON.stringify(ui_properties))
      assert.equal(new Set(places).size, graph.nodes.length, id)
    }
  })

  test('show streams, branches, loops, failures, retries, tables, code, dates, hashes, sub-workflows and work on files', () => {
    const nodes = [...loadExamples().values()].flatMap(({ graph }) => graph.nodes)
    const used = new Set(nodes.map(({ type }) => type))
    const wanted = `control.ForEach control.Collect control.Zip control.Cross control.Take control.Batch control.Reduce control.Count
      control.If control.Switch control.Loop control.Catch workflow.Call code.JavaScript data.Group data.Join data.Pivot
      text.Template date.Add hash.Hmac random.Numbers http.Request http.Pages document.PdfText document.DocxText
      document.HtmlText document.ReadXlsx document.Chunk data.ReadCsv data.ReadParquet data.WriteParquet data.Query chart.Bar
      chart.Line chart.Pie image.ContactSheet image.Composite image.DrawText image.Resize audio.Mix audio.Waveform archive.Zip
      archive.Unzip`
    for (const type of wanted.split(/\s+/)) assert.ok(used.has(type), type)
    for (const name of ['retry', 'timeout_seconds'])
      assert.ok(
        nodes.some(({ data }) => data && name in data),
        name,
      )
  })
})
