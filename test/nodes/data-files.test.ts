// data.ReadCsv, data.WriteCsv, data.ReadJsonLines and data.WriteJsonLines: tables in text files.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { builtinRegistry } from '../../src/nodes/registry.ts'
import { context, runWith } from './context.ts'
import { failsAs } from './fails-as.ts'

async function fire(type: string, inputs: Record<string, unknown>): Promise<Record<string, unknown>> {
  const node = builtinRegistry.get(type)!
  const defaults = Object.fromEntries(node.properties.map(({ name, default: own = null }) => [name, own]))
  return (await runWith(node, { ...defaults, ...inputs }, context)) as Record<string, unknown>
}

interface Written {
  type: string
  data: Uint8Array
  content_type: string
  name: string
}

const written = async (type: string, inputs: Record<string, unknown>) => (await fire(type, inputs)).file as Written
const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Uint8Array.from(part))))

const readCsv = (file: unknown, more = {}) => fire('data.ReadCsv', { file, ...more })

describe('data.ReadCsv', () => {
  test('reads rows, and converts their cells', async () => {
    assert.deepEqual(await readCsv({ data: bytes('name,age,ok\n"Ann, B.",31,true\nBo,,\n') }), {
      rows: [
        { name: 'Ann, B.', age: 31, ok: true },
        { name: 'Bo', age: null, ok: null },
      ],
      columns: ['name', 'age', 'ok'],
    })
    assert.deepEqual((await readCsv(bytes('1;2\n'), { separator: ';', header: false, convert: false })).rows, [
      { column1: '1', column2: '2' },
    ])
  })

  test('detects encodings by their byte order mark, or uses the given one', async () => {
    const rows = [{ é: '€' }]
    const latin = [0xe9, 0x0a, 0x80]
    for (const [file, encoding] of [
      [bytes('é\n€'), 'auto'],
      [bytes([0xef, 0xbb, 0xbf], 'é\n€'), 'auto'],
      [bytes([0xff, 0xfe], [...Buffer.from('é\n€', 'utf16le')]), 'auto'],
      [bytes([0xfe, 0xff], [...Buffer.from('é\n€', 'utf16le').swap16()]), 'auto'],
      [Buffer.from('é\n€', 'utf16le'), 'utf-16le'],
      [bytes(latin), 'windows-1252'],
    ] as const)
      assert.deepEqual((await readCsv(file, { encoding })).rows, rows, encoding)
    assert.deepEqual((await readCsv(bytes(latin), { encoding: 'latin1' })).rows, [{ é: '\x80' }])
  })

  test('refuses files that are not text, cut off, or too long', async () => {
    await assert.rejects(readCsv(bytes([0xe9, 0x0a])), failsAs('bad_file', /not valid UTF-8/))
    await assert.rejects(readCsv(bytes('a\n€').subarray(0, 4)), failsAs('bad_file', /UTF-8/))
    await assert.rejects(readCsv(bytes([0xff, 0xfe, 0x61])), failsAs('bad_file', /UTF-16/))
    await assert.rejects(readCsv(bytes([0xff, 0xfe, 0x00, 0xd8])), failsAs('bad_file', /UTF-16/))
    for (const unmarked of [
      [0x61, 0, 0x0a, 0],
      [0, 0x61, 0, 0x0a],
    ])
      await assert.rejects(readCsv(bytes(unmarked)), failsAs('bad_file', /looks like UTF-16/))
    assert.deepEqual((await readCsv(bytes([0x61, 0, 0x0a, 0]), { encoding: 'utf-16le' })).columns, ['a'])
    assert.deepEqual((await readCsv(bytes('a\nx\0y'))).rows, [{ a: 'x\0y' }])
    await assert.rejects(readCsv(bytes('a\n"b')), failsAs('bad_csv', /is not closed, which begins in line 2/))
    await assert.rejects(readCsv(Buffer.alloc(10_000_001, 'a')), failsAs('too_large', /10,000,000 characters/))
    await assert.rejects(readCsv(Buffer.alloc(100_000_001)), failsAs('too_large', /100,000,000 bytes/))
    await assert.rejects(readCsv(7), failsAs('bad_input', /The file is neither/))
  })
})

describe('data.WriteCsv', () => {
  const rows = [
    { a: 'é,', b: 1 },
    { a: 'x', c: [1] },
  ]

  test('writes a file value with its type and name', async () => {
    const file = await written('data.WriteCsv', { rows })
    assert.deepEqual(
      { ...file, data: Buffer.from(file.data).toString() },
      {
        type: 'dataframe',
        data: 'a,b,c\n"é,",1,\nx,,[1]\n',
        content_type: 'text/csv; charset=utf-8',
        name: 'table.csv',
      },
    )
    const other = { columns: ['b', 'a'], header: false, separator: '\t', line_end: 'crlf', name: 'x.txt' }
    const plain = await written('data.WriteCsv', { rows, ...other })
    assert.deepEqual([Buffer.from(plain.data).toString(), plain.name], ['1\té,\r\n\tx\r\n', 'x.csv'])
  })

  test('writes every encoding so that it is read back', async () => {
    for (const [encoding, begins, content_type] of [
      ['utf-8', '612c62', 'text/csv; charset=utf-8'],
      ['utf-8-bom', 'efbbbf', 'text/csv; charset=utf-8'],
      ['utf-16le', 'fffe61', 'text/csv; charset=utf-16'],
      ['latin1', '612c62', 'text/csv; charset=iso-8859-1'],
    ] as const) {
      const file = await written('data.WriteCsv', { rows: [{ a: 'é', b: 'ÿ' }], encoding })
      assert.deepEqual([Buffer.from(file.data).toString('hex', 0, 3), file.content_type], [begins, content_type])
      for (const how of ['auto', encoding === 'latin1' ? 'latin1' : 'auto']) {
        const read = await readCsv(file, { encoding: how })
        assert.deepEqual(read.rows, [{ a: 'é', b: 'ÿ' }], `${encoding} ${how}`)
      }
    }
    const euro_sign = { data: bytes('a\n', [0x80]), content_type: 'text/csv; charset="Windows-1252"' }
    assert.deepEqual((await readCsv(euro_sign)).rows, [{ a: '€' }])
    const unknown = { data: bytes('a\n', [0x80]), content_type: 'text/csv; charset=klingon' }
    await assert.rejects(readCsv(unknown), failsAs('bad_file', /Set its encoding/))
    // The byte order mark takes precedence over the content type.
    const utf8 = { data: bytes('\uFEFFa\né'), content_type: 'text/csv; charset=iso-8859-1' }
    assert.deepEqual((await readCsv(utf8)).rows, [{ a: 'é' }])
    const euro = written('data.WriteCsv', { rows: [{ a: '€' }], encoding: 'latin1' })
    await assert.rejects(euro, failsAs('bad_input', /Latin-1 has no character €/))
    await assert.rejects(written('data.WriteCsv', { rows: [7] }), failsAs('bad_input', /Row 1 is int/))
  })
})

const readLines = (text: string | Buffer) => fire('data.ReadJsonLines', { file: Buffer.from(text) })

describe('data.ReadJsonLines', () => {
  test('reads an object of each line', async () => {
    assert.deepEqual(await readLines('\uFEFF{"a":1,"b":[{"c":null}]}\r\n\n  \n{"d":"x\u2028y","__proto__":2}'), {
      rows: [{ a: 1, b: [{ c: null }] }, JSON.parse('{"d":"x\u2028y","__proto__":2}')],
      columns: ['a', 'b', 'd', '__proto__'],
    })
    assert.deepEqual(await readLines(''), { rows: [], columns: [] })
    const large =
      '{"a":9007199254740993,"b":[-9007199254740993,9007199254740991],"c":1e20,"d":"9007199254740993","e":0.1234567890123456789}'
    assert.deepEqual((await readLines(large)).rows, [
      {
        a: '9007199254740993',
        b: ['-9007199254740993', 9007199254740991],
        c: 1e20,
        d: '9007199254740993',
        e: 0.12345678901234568,
      },
    ])
  })

  test('says which line is wrong', async () => {
    await assert.rejects(readLines('{}\n\n{"a":'), failsAs('bad_file', /^Line 3 of the file is not JSON\.$/))
    await assert.rejects(readLines('{}\n[1]'), failsAs('bad_file', /^Line 2 of the file is list/))
    await assert.rejects(readLines('7'), failsAs('bad_file', /Line 1 of the file is int/))
    await assert.rejects(readLines(Buffer.of(0x7b, 0xff)), failsAs('bad_file', /UTF-8/))
  })

  test('refuses files that are nested too deep or too large', async () => {
    const deep = `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`
    await assert.rejects(readLines(deep), failsAs('too_deep', /levels deep/))
    await assert.rejects(readLines('{}\n'.repeat(1_000_001)), failsAs('too_large', /1,000,000 rows/))
  })
})

describe('data.WriteJsonLines', () => {
  test('writes files that read back as the same rows', async () => {
    const rows = [{ a: 'two\nlines', b: { c: [1.5, null] } }, {}]
    const file = await written('data.WriteJsonLines', { rows, name: 'data' })
    assert.deepEqual(
      { ...file, data: Buffer.from(file.data).toString() },
      {
        type: 'dataframe',
        data: '{"a":"two\\nlines","b":{"c":[1.5,null]}}\n{}\n',
        content_type: 'application/jsonl',
        name: 'data.jsonl',
      },
    )
    assert.deepEqual((await fire('data.ReadJsonLines', { file })).rows, rows)
    await assert.rejects(written('data.WriteJsonLines', { rows: [null] }), failsAs('bad_input', /Row 1 is null/))
    const long = Array(12).fill({ a: 'x'.repeat(999_999) })
    await assert.rejects(written('data.WriteJsonLines', { rows: long }), failsAs('too_large', /10,000,000 characters/))
  })
})
