// The heads of parts: names, filenames, types and charsets in any spelling; and bodies that are split anywhere.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { formatClaimedType, parseBoundary, parsePartHead } from '../../../../src/http/body/multipart/part-head.ts'
import { PartSplitter } from '../../../../src/http/body/multipart/part-splitter.ts'

const DISPOSITION = 'Content-Disposition: form-data; name="file"; filename="a"'

const charset = (head: string) => parsePartHead(head)!.charset

describe('the charset of a part', () => {
  test('is found anywhere in the head of the part', () => {
    for (const head of [
      `${DISPOSITION}\r\nContent-Type: text/csv; charset=latin1`,
      `CONTENT-TYPE:text/CSV;x="a;charset=utf-8";Charset="Latin1"\r\n${DISPOSITION}`,
      `X: y\r\nContent-Type: text/csv;\r\n\tcharset=latin1\r\n${DISPOSITION}`,
    ])
      assert.equal(charset(head), 'latin1', head)
  })

  test('is null if the head has none, or an invalid one', () => {
    for (const head of [
      DISPOSITION,
      'Content-Type: text/csv',
      'Content-Type: text/csv; charset=',
      'Content-Type: text/csv; charset="a b"',
      `Content-Type: text/csv; charset=${'x'.repeat(41)}`,
      'Content-Type: csv; charset=latin1',
      'X-Content-Type: text/csv; charset=latin1',
    ])
      assert.equal(charset(head), null, head)
  })

  test('makes a generic type significant', () => {
    assert.equal(formatClaimedType('text/plain', null), null)
    assert.equal(formatClaimedType('text/plain', 'utf-8'), null)
    assert.equal(formatClaimedType('text/plain', 'latin1'), 'text/plain; charset=latin1')
    assert.equal(formatClaimedType('text/csv', null), 'text/csv')
  })
})

describe('the head of a part', () => {
  const named = (disposition: string) => parsePartHead(`Content-Disposition: ${disposition}`)

  for (const [disposition, name, filename] of [
    ['form-data; name=file; filename=a.txt', 'file', 'a.txt'],
    ['FORM-DATA;name="a;b";filename="a \\"b\\".txt"', 'a;b', 'a "b".txt'],
    [String.raw`form-data; name="file"; filename="C:\docs\note.txt"`, 'file', 'note.txt'],
    ['form-data; name="file"; filename="../../note.txt"', 'file', 'note.txt'],
    ['form-data; name="file"; filename=".."', 'file', ''],
    ['form-data; name="file"; filename=""', 'file', null],
    ['form-data; name=""', null, null],
    ['form-data', null, null],
    ['form-data; name="a"; name="b"', 'a', null],
    [Buffer.from('form-data; name="ä"; filename="é.txt"').toString('latin1'), 'ä', 'é.txt'],
    ["form-data; name=file; filename=e.txt; filename*=UTF-8''%C3%A9.txt", 'file', 'é.txt'],
    ["form-data; name=file; filename=e.txt; filename*=UTF-8''%zz", 'file', 'e.txt'],
  ] as const)
    test(`names the part: ${disposition}`, () => {
      const head = named(disposition)!
      assert.deepEqual([head.is_form_data, head.name, head.filename], [true, name, filename])
    })

  for (const disposition of ['attachment; name="file"', 'form-data; name="file', 'form-data; name="a" b', ''])
    test(`is no form data: ${disposition}`, () => assert.equal(named(disposition)!.is_form_data, false))

  for (const head of ['no colon', ': no name', 'X y: z', 'X: \u0001', 'X: y\nZ: z', `X:${' '.repeat(16_000)}\u0001`])
    test(`is malformed: ${head.slice(0, 20)}`, () => assert.equal(parsePartHead(head), null))

  test('has the type text/plain where it has none, and is empty where it has no lines', () => {
    assert.deepEqual(parsePartHead(''), {
      is_form_data: false,
      name: null,
      filename: null,
      type: 'text/plain',
      charset: null,
      encoding: '7bit',
    })
  })

  test('has a boundary only where the type of the form has one', () => {
    assert.equal(parseBoundary('multipart/form-data; boundary="b 1"'), 'b 1')
    for (const type of ['multipart/form-data', 'multipart/form-data; boundary=', ';'])
      assert.equal(parseBoundary(type), null)
  })
})

describe('a multipart body', () => {
  const body = Buffer.from(
    `preamble\r\n--b\r\n${DISPOSITION}\r\n\r\n1\r\n-\r\n--\r\r\n--b\r\n\r\nunlabelled\r\n--b\r\n${DISPOSITION}\r\n\r\n\r\n--b--epilogue\r\n--b\r\n`,
  )

  function read(...chunks: Buffer[]) {
    const splitter = new PartSplitter('b')
    const parts: { name: string | null; text: string; ended: boolean }[] = []
    for (const chunk of chunks)
      for (const event of splitter.push(chunk)) {
        if (event.kind === 'head') parts.push({ name: event.head.name, text: '', ended: false })
        else if (event.kind === 'bytes') parts.at(-1)!.text += event.bytes
        else parts.at(-1)!.ended = true
      }
    return { parts, complete: splitter.isComplete, pending: splitter.pending }
  }

  const whole = {
    parts: [
      { name: 'file', text: '1\r\n-\r\n--\r', ended: true },
      { name: null, text: 'unlabelled', ended: true },
      { name: 'file', text: '', ended: true },
    ],
    complete: true,
    pending: 0,
  }

  test('gives every part with its bytes, wherever it is split', () => {
    assert.deepEqual(read(body), whole)
    for (let at = 0; at <= body.length; at++) assert.deepEqual(read(body.subarray(0, at), body.subarray(at)), whole)
    assert.deepEqual(read(...Array.from(body, (byte) => Buffer.of(byte))), whole)
  })

  test('is complete only with its last boundary', () => {
    const end = body.indexOf('--b--') + '--b--'.length
    for (let length = 0; length < end; length++) assert.equal(read(body.subarray(0, length)).complete, false)
    assert.equal(read(body.subarray(0, end)).complete, true)
  })
})
