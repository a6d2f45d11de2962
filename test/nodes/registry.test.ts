// Rules for every node type that comes with the service.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createNodeMetadata } from '../../src/engine/node-api/node-metadata.ts'
import { conforms } from '../../src/engine/node-api/values/type-conformance.ts'
import { builtinRegistry, createRegistry } from '../../src/nodes/registry.ts'

/** Names and handles on which clients and examples rely: type, properties, outputs. */
const PROMISED: [string, string, string][] = [
  ...['String', 'Boolean', 'List', 'Object', 'Any'].map((name): [string, string, string] => [
    `input.${name}`,
    'name value description',
    'output',
  ]),
  ['input.Integer', 'name value description min max', 'output'],
  ['input.Float', 'name value description min max', 'output'],
  ['output.Output', 'name value', ''],
  ['text.Template', 'template', 'output'],
  ['text.Concat', 'a b', 'output'],
  ['math.Formula', 'formula', 'output'],
  ['control.If', 'condition value', 'if_true if_false'],
  ['control.ForEach', 'list', 'item index'],
  ['control.Collect', 'item', 'list'],
  ['control.Delay', 'value seconds', 'output'],
  ['workflow.Call', 'workflow_id', ''],
  ['asset.Load', 'asset', 'bytes text'],
  ['asset.Save', 'name content_type data folder', 'asset'],
  ['image.Load', 'image', 'image width height format name'],
  ['image.Save', 'image name folder format quality', 'asset width height'],
  ['image.Convert', 'image frame format quality', 'image width height'],
  ['asset.List', 'folder content_type name limit', 'asset assets count'],
  ['chat.Complete', 'model system prompt messages images', 'text usage'],
  ['chat.Structured', 'model schema system prompt messages images repairs', 'value usage'],
  ['chat.Classify', 'model text labels instructions', 'label usage'],
  ['chat.Extract', 'model text fields instructions', 'value usage'],
  ['chat.Summarize', 'model text instructions piece_length', 'text usage'],
  ['chat.Embed', 'model texts dimensions', 'vectors vector usage'],
  ['prompt.Template', 'system template messages', 'messages prompt system'],
  ['document.PdfInfo', 'document', 'page_count pages'],
  ['document.PdfText', 'document from_page to_page', 'text pages page_count'],
  ['document.PdfPages', 'document from_page to_page dpi format quality', 'images page_count'],
  ['document.DocxText', 'document', 'text html'],
  ['document.ReadXlsx', 'document sheet header_row', 'rows columns sheet sheets'],
  ['document.WriteXlsx', 'rows columns sheet header name', 'document'],
  ['document.HtmlText', 'document charset', 'title text markdown links'],
  ['text.HtmlToMarkdown', 'html', 'output'],
  ['document.Chunk', 'text size overlap markdown', 'chunks texts'],
  ['vector.Index', 'index texts vectors ids metadata model', 'ids count usage'],
  ['vector.Search', 'index query vector model top_k min_score filter', 'matches texts usage'],
  ['vector.Remove', 'index ids filter all', 'count'],
  ['vector.Info', 'index', 'exists count dimensions model'],
  ['vector.List', '', 'indexes'],
]

const words = (text: string) => text.split(' ').filter((word) => word !== '')

describe('the registry', () => {
  for (const [name, properties, outputs] of PROMISED) {
    test(`has ${name} with the promised handles`, () => {
      const metadata = createNodeMetadata(builtinRegistry.get(name)!)
      for (const property of words(properties))
        assert.ok(
          metadata.properties.some((one) => one.name === property),
          property,
        )
      assert.deepEqual(
        metadata.outputs.map((one) => one.name),
        words(outputs),
      )
    })
  }

  test('has the promised streams and dynamic handles', () => {
    const dynamic = builtinRegistry.all().filter((type) => type.supports_dynamic_inputs)
    assert.deepEqual(
      dynamic.map((type) => type.node_type),
      [
        'code.JavaScript',
        'control.Coalesce',
        'data.AddColumn',
        'data.Filter',
        'data.Query',
        'logic.Combine',
        'math.Formula',
        'prompt.Template',
        'text.RenderHtml',
        'text.Template',
        'workflow.Call',
      ],
    )
    assert.ok(builtinRegistry.get('workflow.Call')!.supports_dynamic_outputs)
    const streaming = builtinRegistry.all().filter((type) => createNodeMetadata(type).is_streaming_output)
    assert.deepEqual(
      streaming.map((type) => type.node_type),
      [
        'agent.Run',
        'asset.List',
        'chat.Complete',
        'chat.Summarize',
        ...['Batch', 'Chain', 'Cross', 'ForEach', 'Loop', 'Numbers', 'Take', 'Zip'].map((name) => `control.${name}`),
        'http.Pages',
        'random.Numbers',
      ],
    )
  })

  test('has at least 60 types, in the order of their names', () => {
    const names = builtinRegistry.all().map((type) => type.node_type)
    assert.ok(names.length >= 60)
    assert.deepEqual(names, [...names].sort())
    assert.equal(new Set(names).size, names.length)
  })

  test('refuses two types with one name', () => {
    const [type] = builtinRegistry.all()
    assert.throws(() => createRegistry([type!, type!]), /same name/)
  })

  for (const type of builtinRegistry.all()) {
    test(`${type.node_type} is described, and its defaults are of their types`, () => {
      assert.match(type.node_type, /^[a-z]+\.[A-Z][A-Za-z]+$/)
      assert.ok(type.title && type.description.endsWith('.'))
      assert.ok(type.role === 'output' || type.run || type.open || type.streamOperator || type.loop)
      for (const property of type.properties) {
        assert.ok(property.description?.endsWith('.'), property.name)
        if (property.default !== undefined) assert.ok(conforms(property.default, property.type), property.name)
      }
    })
  }

  test('has optional inputs that also accept null through an edge', () => {
    const optional = [
      'code.JavaScript.seed',
      'list.Slice.end',
      'text.Slice.end',
      'control.Loop.times',
      'control.Numbers.to',
    ]
    for (const name of optional) {
      const at = name.lastIndexOf('.')
      const property = builtinRegistry
        .get(name.slice(0, at))!
        .properties.find((one) => one.name === name.slice(at + 1))!
      assert.ok(conforms(null, property.type), name)
    }
  })

  test('every type is named by a test of its own', () => {
    const files = readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter(
      (path) => path.endsWith('.test.ts') && path !== 'registry.test.ts',
    )
    const text = files.map((path) => readFileSync(join(import.meta.dirname, path), 'utf8')).join('\n')
    const untested = builtinRegistry.all().filter((type) => !text.includes(`'${type.node_type}'`))
    assert.deepEqual(
      untested.map((type) => type.node_type),
      [],
    )
  })
})

test('metadata has every key, and titles made from names', () => {
  assert.deepEqual(createNodeMetadata(builtinRegistry.get('control.If')!), {
    node_type: 'control.If',
    title: 'If',
    description: 'Sends a value to one of two branches. The nodes of the other branch are skipped.',
    namespace: 'control',
    properties: [
      {
        name: 'condition',
        type: {
          type: 'union',
          optional: false,
          values: [],
          type_args: ['bool', 'int', 'float'].map((type) => ({
            type,
            optional: false,
            values: [],
            type_args: [],
            type_name: null,
          })),
          type_name: null,
        },
        default: null,
        title: 'Condition',
        description: 'True or false. The number 0 is false; other numbers are true.',
        required: true,
      },
      {
        name: 'value',
        type: { type: 'any', optional: false, values: [], type_args: [], type_name: null },
        default: null,
        title: 'Value',
        description: 'The value to send on.',
        required: false,
      },
    ],
    outputs: ['if_true', 'if_false'].map((name) => ({
      name,
      type: { type: 'any', optional: false, values: [], type_args: [], type_name: null },
      stream: false,
    })),
    is_streaming_output: false,
    supports_dynamic_inputs: false,
    supports_dynamic_outputs: false,
    retry_safe: true,
    required_settings: [],
    required_runtimes: [],
  })
  const delay = createNodeMetadata(builtinRegistry.get('control.Delay')!).properties[1]!
  assert.deepEqual([delay.min, delay.max, delay.default], [0, 86_400, 1])
})
