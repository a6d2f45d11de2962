// No node type does much work on the thread that answers requests: large firings run in compute threads, or the type has a reason below.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { compute } from './kit.ts'

after(() => compute[Symbol.asyncDispose]())

/** The reasons why firings of a type stay on the main thread, however large their inputs are. */
const STAY: Readonly<Record<string, readonly string[]>> = {
  'they hand values on, or look at one of them': [
    'constant.*',
    'input.*',
    'output.Output',
    'compare.Type',
    'control.Catch',
    'control.Coalesce',
    'control.Delay',
    'control.Fail',
    'control.If',
    'control.Switch',
    'control.WaitFor',
    'human.Approval',
    'dict.Get',
    'list.Get',
    'list.Length',
    'logic.Choose',
    'logic.Not',
    'math.Round',
    'text.Concat',
    'workflow.Call',
  ],
  'what they look at is a few conditions': ['logic.Combine'],
  'they draw a few numbers': ['random.Float', 'random.Integer', 'random.Normal', 'random.Uuid', 'date.Now'],
  'they read or give one item after the other, in slices of time': [
    'control.Batch',
    'control.Chain',
    'control.Collect',
    'control.Count',
    'control.Cross',
    'control.ForEach',
    'control.Last',
    'control.Loop',
    'control.Numbers',
    'control.Reduce',
    'control.Take',
    'control.Zip',
    'random.Numbers',
  ],
  'their work is done by processes of media': [
    'archive.*',
    'audio.*',
    'chart.*',
    'image.*',
    'data.Query',
    'data.ReadParquet',
    'data.WriteParquet',
    'document.DocxText',
    'document.PdfInfo',
    'document.PdfPages',
    'document.PdfText',
    'document.ReadXlsx',
    'document.WriteXlsx',
  ],
  'their code runs in the sandbox': ['code.JavaScript'],
  'they wait for models, servers, stores or other nodes': [
    'agent.Run',
    'asset.List',
    'asset.Load',
    'asset.Save',
    'chat.*',
    'http.Pages',
    'vector.*',
  ],
}

function staysWith(node_type: string): string[] {
  return Object.values(STAY)
    .flat()
    .filter((name) => name === node_type || (name.endsWith('.*') && node_type.startsWith(name.slice(0, -1))))
}

for (const type of builtinRegistry.all()) {
  const { node_type } = type
  test(`${node_type} may run apart, or has a reason to stay`, () => {
    const reasons = staysWith(node_type)
    if (compute.takes(type)) assert.deepEqual(reasons, [], 'it may run apart')
    else assert.equal(reasons.length, 1, `it does its work on the main thread: ${reasons.length} reasons`)
  })
}

test('each reason belongs to an existing node type', () => {
  const names = builtinRegistry.all().map(({ node_type }) => node_type)
  const unknown = Object.values(STAY)
    .flat()
    .filter((name) => !names.some((one) => one === name || (name.endsWith('.*') && one.startsWith(name.slice(0, -1)))))
  assert.deepEqual(unknown, [])
})
