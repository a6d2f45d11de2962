// What changes in a request on its way to a model server, and that nothing else does.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createBodyWithoutStreamOptions, createUpstreamBody } from '../../../src/completions/requests/upstream-body.ts'

const sent = (text: string) => String(createBodyWithoutStreamOptions(Buffer.from(text), 'there'))

describe('a request without stream_options', () => {
  for (const [what, given, expected] of [
    [
      'has nothing in its place',
      '{"model":"m","stream_options":{"include_usage":true},"n":1}',
      '{"model":"there","n":1}',
    ],
    [
      'keeps every other byte',
      '{ "x":1e400 ,\n "stream_options" : {} , "model":"m" }',
      '{ "x":1e400 , "model":"there" }',
    ],
    ['may have had it first', '{"stream_options":null,"model":"m"}', '{"model":"there"}'],
    ['may have had it last', '{"model":"m","n":1, "stream_options":{} }', '{"model":"there","n":1 }'],
    [
      'may have had it several times',
      '{ "stream_options":{"include_usage":false}, "stream_options":{}, "model":"m","stream_options":{},"model":"m2"}',
      '{ "model":"there","model":"there"}',
    ],
    ['may not have had any', '{"model":"m"}', '{"model":"there"}'],
    [
      'keeps what only looks like it',
      '{"model":"m","messages":[{"content":"\\"stream_options\\":{}","stream_options":1}],"stream_options":{}}',
      '{"model":"there","messages":[{"content":"\\"stream_options\\":{}","stream_options":1}]}',
    ],
    ['is without the mark of a byte order', '\ufeff{"stream_options":{},"model":"é"}', '{"model":"there"}'],
    ['is found by a name with escapes', '{"model":"m","stream\\u005foptions":{}}', '{"model":"there"}'],
  ] as const) {
    test(what, () => {
      assert.equal(sent(given), expected)
      JSON.parse(expected)
    })
  }

  test('does not exist if the client set other stream options', () => {
    for (const options of ['{"include_obfuscation":false}', '{"include_usage":true,"x":1}'])
      assert.equal(
        createBodyWithoutStreamOptions(Buffer.from(`{"model":"m","stream_options":${options}}`), 'there'),
        null,
      )
  })

  test('is otherwise the same as the request with them', () => {
    const raw = Buffer.from('{"model":"m","messages":[{"content":"é😀"}],"stream":true,"seed":1152921504606846976}')
    const wishing = createUpstreamBody(raw, { model: 'there', include_usage: true })
    assert.equal(
      String(createBodyWithoutStreamOptions(wishing, 'there')),
      String(createUpstreamBody(raw, { model: 'there', include_usage: false })),
    )
  })
})
