// Members of JSON objects as ranges of their text.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { applyEdits, findMembers } from '../../../src/completions/json/text-ranges.ts'
import { createUpstreamBody } from '../../../src/completions/requests/upstream-body.ts'

const latin1 = (text: string) => Buffer.from(text).toString('latin1')
const utf8 = (text: string) => Buffer.from(text, 'latin1').toString()

describe('the members of an object', () => {
  test('are those that JSON.parse finds, in any notation', () => {
    const space = fc.constantFrom(undefined, 1, '\t', '\r\n ')
    fc.assert(
      fc.property(fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue()), space, (value, indent) => {
        const text = latin1(JSON.stringify(value, null, indent))
        const members = findMembers(text)
        assert.ok(members)
        const found = members.map(({ key, start, end }) => [utf8(key), JSON.parse(utf8(text.slice(start, end)))])
        assert.deepEqual(found, Object.entries(JSON.parse(JSON.stringify(value))))
      }),
    )
  })

  test('are not found in an object that is cut off, or in another value', () => {
    const text = '{"a": [1, {"b": "}\\""}], "c": "\\\\", "d": -1.5e+400, "e": null}'
    assert.equal(findMembers(text)?.length, 4)
    for (let length = 0; length < text.length; length++)
      assert.equal(findMembers(text.slice(0, length)), null, text.slice(0, length))
    for (const other of [
      '[]',
      '"a"',
      '1',
      'null',
      '{a: 1}',
      '{"a" 1}',
      '{"a": }',
      '{"a": 1,}',
      '{,}',
      '{"a": 1 "b": 2}',
    ])
      assert.equal(findMembers(other), null, other)
  })

  test('can be replaced without a change of any other byte', () => {
    const bytes = Buffer.from('{ "ä": 1.0, "b" :[ 1e400 ] }')
    const member = findMembers(bytes.toString('latin1'))![1]!
    assert.equal(applyEdits(bytes, [{ ...member, text: '"é"' }]).toString(), '{ "ä": 1.0, "b" :"é" }')
  })
})

describe('a request to a model server', () => {
  const on = (text: string, include_usage = false) =>
    Buffer.from(createUpstreamBody(Buffer.from(text), { model: 'm', include_usage })).toString()

  test('has the model name of the provider, and is otherwise the same byte for byte', () => {
    assert.equal(on('{"model":"up/m"}'), '{"model":"m"}')
    const text = (model: string) =>
      `\r\n{ "seed" : 1152921504606846976,"x":1e400,\t"temperature":1.0, "model"  : ${model} , "messages":[{"model":"up/m"}],"é":"\\u00e9\\ud83d\\ude00" } `
    assert.equal(on(text('"up/m"')), text('"m"'))
  })

  test('has the model name in place of each duplicate, also of escaped names', () => {
    assert.equal(on('{"model":"a","mod\\u0065l":"b","a":1}'), '{"model":"m","mod\\u0065l":"m","a":1}')
  })

  test('loses its byte order mark', () => {
    assert.equal(on('\ufeff{"model":"up/m"}'), '{"model":"m"}')
  })

  test('requests the usage of a stream, and keeps its other options', () => {
    const wishes: [string, string][] = [
      ['{"model":"a"}', '{"model":"m","stream_options":{"include_usage":true}}'],
      ['{"stream_options":null,"model":"a"}', '{"stream_options":{"include_usage":true},"model":"m"}'],
      ['{"stream_options": {} ,"model":"a"}', '{"stream_options": {"include_usage":true} ,"model":"m"}'],
      [
        '{"model":"a","stream_options":{ "é": 1.0 }}',
        '{"model":"m","stream_options":{ "é": 1.0,"include_usage":true }}',
      ],
      [
        '{"model":"a","stream_options":{"include_usage": false, "b":2}}',
        '{"model":"m","stream_options":{"include_usage": true, "b":2}}',
      ],
    ]
    for (const [given, expected] of wishes) assert.equal(on(given, true), expected)
  })
})
