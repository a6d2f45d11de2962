// Members of JSON objects by their places in a text.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import fc from 'fast-check'
import { applyEdits, findMembers } from '../../../src/completions/json/text-ranges.ts'
import { createUpstreamBody } from '../../../src/completions/requests/upstream-body.ts'

const latin1 = (text: string) => Buffer.from(text).toString('latin1')
const utf8 = (text: string) => Buffer.from(text, 'latin1').toString()

describe('the members of an object', () => {
  test('are those that JSON.parse finds, in whatever way they are written', () => {
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

  test('are none of what is cut off at any place, nor of what is no object', () => {
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

  test('are replaced with every other byte as it was', () => {
    const bytes = Buffer.from('{ "ä": 1.0, "b" :[ 1e400 ] }')
    const member = findMembers(bytes.toString('latin1'))![1]!
    assert.equal(applyEdits(bytes, [{ ...member, text: '"é"' }]).toString(), '{ "ä": 1.0, "b" :"é" }')
  })
})

describe('a request that goes on', () => {
  const on = (text: string, include_usage = false) =>
    Buffer.from(createUpstreamBody(Buffer.from(text), { model: 'm', include_usage })).toString()

  test('has another model, and is otherwise the same, byte by byte', () => {
    assert.equal(on('{"model":"up/m"}'), '{"model":"m"}')
    const text = (model: string) =>
      `\r\n{ "seed" : 1152921504606846976,"x":1e400,\t"temperature":1.0, "model"  : ${model} , "messages":[{"model":"up/m"}],"é":"\\u00e9\\ud83d\\ude00" } `
    assert.equal(on(text('"up/m"')), text('"m"'))
  })

  test('has it in the place of each one where it comes more than once, or is written with escapes', () => {
    assert.equal(on('{"model":"a","mod\\u0065l":"b","a":1}'), '{"model":"m","mod\\u0065l":"m","a":1}')
  })

  test('loses the mark of a byte order', () => {
    assert.equal(on('\ufeff{"model":"up/m"}'), '{"model":"m"}')
  })

  test('wishes for the usage of a stream, and for everything else that it did', () => {
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
