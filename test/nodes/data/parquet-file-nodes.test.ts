// data.ReadParquet and data.WriteParquet: the values of each column type, and false claims of files.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { brotliCompressSync, gzipSync, zstdCompressSync } from 'node:zlib'
import { type FileMetaData, parquetMetadata, type SchemaElement } from 'hyparquet'
import { ByteWriter, type ColumnSource, parquetWriteBuffer } from 'hyparquet-writer'
import { writeMetadata } from 'hyparquet-writer/src/metadata.js'
import { snappyCompress } from 'hyparquet-writer/src/snappy.js'
import { failsAs } from '../fails-as.ts'
import { mediaNodes } from '../with-media.ts'

const nodes = mediaNodes()
after(() => nodes[Symbol.asyncDispose]())

const read = (file: unknown, more = {}) => nodes.fire('data.ReadParquet', { file, ...more })
const rowsOf = async (file: unknown, more = {}) => (await read(file, more)).rows
const write = async (rows: unknown[], more = {}) =>
  (await nodes.fire('data.WriteParquet', { rows, ...more })).file as { data: Uint8Array; content_type: string }
const again = async (rows: unknown[], more = {}) => rowsOf(await write(rows, more))

/** A file that the library writes, without the nodes. */
const fileOf = (columnData: ColumnSource[], more = {}) => Buffer.from(parquetWriteBuffer({ columnData, ...more }))

/** The values of one column with this description. */
async function columnOf(element: Partial<SchemaElement>, data: unknown[], more = {}): Promise<unknown[]> {
  const schema = [
    { name: 'root', num_children: 1 },
    { name: 'a', repetition_type: 'OPTIONAL', ...element },
  ] as SchemaElement[]
  const rows = (await rowsOf(fileOf([{ name: 'a', data }], { schema }), more)) as { a: unknown }[]
  return rows.map(({ a }) => a)
}

const varint = (value: number): number[] =>
  value < 128 ? [value] : [(value % 128) | 128, ...varint(Math.floor(value / 128))]
const zigzag = (value: number) => varint(value < 0 ? -2 * value - 1 : 2 * value)

interface Page {
  body: Buffer
  values: number
  size?: number
  packed?: number
  type?: number
  encoding?: number
}

/** A page with its header; each part may be false. */
function pageOf({ body, values, size = body.length, packed = body.length, type = 0, encoding = 0 }: Page): Buffer {
  const inner =
    type === 2
      ? [0x4c, 0x15, ...zigzag(values), 0x15, ...zigzag(encoding), 0]
      : [0x2c, 0x15, ...zigzag(values), 0x15, ...zigzag(encoding), 0x15, 6, 0x15, 6, 0]
  return Buffer.from([0x15, ...zigzag(type), 0x15, ...zigzag(size), 0x15, ...zigzag(packed), ...inner, 0, ...body])
}

/** One column of 32-bit integers without missing values, from these pages. `change` falsifies its description. */
function madeOf(
  pages: Buffer[],
  rows: number,
  change: (metadata: FileMetaData) => void = () => {},
  codec = 'UNCOMPRESSED',
) {
  const body = Buffer.concat(pages)
  const plain = fileOf([{ name: 'a', data: new Int32Array([1]) }])
  const metadata = parquetMetadata(plain)
  metadata.num_rows = BigInt(rows)
  const [group] = metadata.row_groups
  group!.num_rows = BigInt(rows)
  group!.columns = [{ file_offset: 4n, meta_data: { ...group!.columns[0]!.meta_data! } }]
  const meta = group!.columns[0]!.meta_data!
  Object.assign(meta, { codec, num_values: BigInt(rows), data_page_offset: 4n, dictionary_page_offset: undefined })
  Object.assign(meta, { total_compressed_size: BigInt(body.length), statistics: undefined, encoding_stats: undefined })
  change(metadata)
  const writer = new ByteWriter()
  writer.appendUint32(0x31524150)
  writer.appendBytes(body)
  writeMetadata(writer, metadata)
  writer.appendUint32(0x31524150)
  return Buffer.from(writer.getBytes())
}

const numbers = (...values: number[]) => Buffer.from(new Int32Array(values).buffer)

describe('data.ReadParquet', () => {
  test('reads whole numbers exactly, and floats that are finite', async () => {
    const big = [1n, -1n, 9007199254740991n, 9007199254740993n, -9223372036854775808n, null]
    assert.deepEqual(await columnOf({ type: 'INT64' }, big), [
      ...[1, -1, 9007199254740991, '9007199254740993', '-9223372036854775808', null],
    ])
    assert.deepEqual(await columnOf({ type: 'INT64', converted_type: 'UINT_64' }, [2n ** 64n - 1n, 5n]), [
      '18446744073709551615',
      5,
    ])
    assert.deepEqual(await columnOf({ type: 'INT32', converted_type: 'UINT_32' }, [4294967295, 5]), [4294967295, 5])
    const odd = [0.1, Number.NaN, Number.POSITIVE_INFINITY, -0]
    assert.deepEqual(await columnOf({ type: 'DOUBLE' }, odd), [0.1, null, null, -0])
    assert.deepEqual(await columnOf({ type: 'FLOAT' }, [1.5, null]), [1.5, null])
    assert.deepEqual(await columnOf({ type: 'BOOLEAN' }, [true, null, false]), [true, null, false])
    const half = { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 2, logical_type: { type: 'FLOAT16' } } as const
    assert.deepEqual(await columnOf(half, [1.5, -2]), [1.5, -2])
  })

  test('reads dates and times as texts, with a zone only if they have one', async () => {
    assert.deepEqual(await columnOf({ type: 'INT32', converted_type: 'DATE' }, [0, -1, 20000, null]), [
      ...['1970-01-01', '1969-12-31', '2024-10-04', null],
    ])
    assert.deepEqual(await columnOf({ type: 'INT64', converted_type: 'TIMESTAMP_MILLIS' }, [-1n, 1500n, 0n]), [
      ...['1969-12-31T23:59:59.999Z', '1970-01-01T00:00:01.5Z', '1970-01-01T00:00:00Z'],
    ])
    const moment = (unit: 'MICROS' | 'NANOS', isAdjustedToUTC: boolean) =>
      ({ type: 'INT64', logical_type: { type: 'TIMESTAMP', unit, isAdjustedToUTC } }) as const
    assert.deepEqual(await columnOf(moment('MICROS', true), [1234567n]), ['1970-01-01T00:00:01.234567Z'])
    assert.deepEqual(await columnOf(moment('NANOS', false), [-1n]), ['1969-12-31T23:59:59.999999999'])
    assert.deepEqual(await columnOf({ type: 'INT32', converted_type: 'TIME_MILLIS' }, [45296007]), ['12:34:56.007'])
    await assert.rejects(columnOf(moment('MICROS', true), [2n ** 63n - 1n]), failsAs('bad_file', /out of range/))
    await assert.rejects(
      columnOf({ type: 'INT32', converted_type: 'TIME_MILLIS' }, [-1]),
      failsAs('bad_file', /time of day/),
    )
  })

  test('reads decimals digit by digit, or as numbers', async () => {
    const decimal = (type: 'INT32' | 'INT64' | 'BYTE_ARRAY', scale: number) =>
      ({ type, converted_type: 'DECIMAL', scale, precision: 38 }) as const
    assert.deepEqual(await columnOf(decimal('INT32', 2), [57n, -5n, 0n, null]), ['0.57', '-0.05', '0.00', null])
    assert.deepEqual(await columnOf(decimal('INT64', 0), [2n ** 60n]), ['1152921504606846976'])
    const long = 12345678901234567890123456789n
    assert.deepEqual(await columnOf(decimal('BYTE_ARRAY', 9), [long, -long]), [
      '12345678901234567890.123456789',
      '-12345678901234567890.123456789',
    ])
    assert.deepEqual(await columnOf(decimal('INT32', 2), [57n, 110n], { decimals: 'number' }), [0.57, 1.1])
  })

  test('reads texts, JSON, names of rows and bytes', async () => {
    assert.deepEqual(await columnOf({ type: 'BYTE_ARRAY', converted_type: 'UTF8' }, ['é', '', null]), ['é', '', null])
    const json = [{ a: [1, null] }, 'x', null]
    assert.deepEqual(await columnOf({ type: 'BYTE_ARRAY', converted_type: 'JSON' }, json), json)
    const id = '01234567-89ab-cdef-0123-456789abcdef'
    const uuid = { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 16, logical_type: { type: 'UUID' } } as const
    assert.deepEqual(await columnOf(uuid, [id]), [id])
    const bytes = [Uint8Array.of(0xff, 0), Uint8Array.of(97)]
    assert.deepEqual(await columnOf({ type: 'BYTE_ARRAY' }, bytes.slice(1)), ['a'])
    assert.deepEqual(await columnOf({ type: 'BYTE_ARRAY' }, bytes, { binary: 'base64' }), ['/wA=', 'YQ=='])
    await assert.rejects(columnOf({ type: 'BYTE_ARRAY' }, bytes), failsAs('bad_file', /column "a" .*base64/))
    const interval = { type: 'FIXED_LEN_BYTE_ARRAY', type_length: 12, converted_type: 'INTERVAL' } as const
    await assert.rejects(columnOf(interval, [new Uint8Array(12)]), failsAs('unsupported', /intervals/))
  })

  test('reads the chosen columns and rows, across row groups', async () => {
    const count = Array.from({ length: 10 }, (_, at) => at)
    const columns = [
      { name: 'n', data: count },
      { name: 'square', data: count.map((one) => one * one) },
      { name: '__proto__', data: count.map(String) },
    ]
    const file = fileOf(columns, { rowGroupSize: 3 })
    const part = { columns: ['square', 'n'], from_row: 2, max_rows: 5 }
    assert.deepEqual(await read(file, part), {
      rows: [2, 3, 4, 5, 6].map((n) => ({ square: n * n, n })),
      columns: ['square', 'n'],
      row_count: 10,
    })
    assert.deepEqual(((await rowsOf(file, { from_row: 9 })) as object[]).map(Object.entries), [
      [...Object.entries({ n: 9, square: 81 }), ['__proto__', '9']],
    ])
    assert.deepEqual(await rowsOf(file, { from_row: 10 }), [])
    assert.deepEqual(await rowsOf(file, { max_rows: 0 }), [])
    await assert.rejects(read(file, { columns: ['m'] }), failsAs('bad_input', /no column "m"/))
    await assert.rejects(read(file, { columns: ['n', 'n'] }), failsAs('duplicate_column', /Two columns/))
  })

  test('unpacks the compressions of other writers', async () => {
    const data = ['aaaaaaaaaaaaaaaaaaaaaaaaaaaa', 'b'.repeat(100), null]
    const compressors = { GZIP: gzipSync, BROTLI: brotliCompressSync, ZSTD: zstdCompressSync, LZ4_RAW: literally }
    for (const codec of ['UNCOMPRESSED', 'SNAPPY', 'GZIP', 'BROTLI', 'ZSTD', 'LZ4_RAW']) {
      const file = fileOf([{ name: 'a', data }], { codec, compressors })
      assert.deepEqual(
        await rowsOf(file),
        data.map((a) => ({ a })),
        codec,
      )
    }
    const other = fileOf([{ name: 'a', data }], { codec: 'LZO', compressors: { LZO: (bytes: Uint8Array) => bytes } })
    await assert.rejects(read(other), failsAs('bad_file', /damaged/))
  })

  test('reads an empty page, as writers make for columns without values', async () => {
    const nothing = pageOf({ body: Buffer.of(0), values: 0, size: 0, type: 2 })
    const one = pageOf({ body: Buffer.from(literally(numbers(7))), values: 1, size: 4 })
    assert.deepEqual(await rowsOf(madeOf([nothing, one], 1, () => {}, 'LZ4_RAW')), [{ a: 7 }])
  })

  test('refuses files that are not Parquet, or are cut off', async () => {
    const whole = fileOf([{ name: 'a', data: ['x', 'y'] }])
    for (const none of ['', 'PAR', 'a,b\n1,2\n'])
      await assert.rejects(read(Buffer.from(none)), failsAs('unsupported', /no Parquet/))
    for (let length = 4; length < whole.length; length += 9)
      await assert.rejects(read(whole.subarray(0, length)), failsAs('bad_file', /damaged/), String(length))
    // A file with the magic number of one format and the content of another.
    const both = Buffer.concat([Buffer.from('%PDF-1.7\n'), whole])
    await assert.rejects(read(both), failsAs('unsupported', /no Parquet/))
    assert.deepEqual(await rowsOf(whole), [{ a: 'x' }, { a: 'y' }])
  })

  test('survives a change of any byte', async () => {
    const whole = fileOf([{ name: 'a', data: ['x', 'yy', null] }], { codec: 'UNCOMPRESSED' })
    for (let at = 4; at < whole.length; at += 3) {
      const spoilt = Buffer.from(whole)
      spoilt[at]! ^= 0xff
      const error = await read(spoilt).then(
        () => null,
        (reason: { type?: string }) => reason.type,
      )
      assert.ok([null, 'bad_file', 'unsupported', 'too_large'].includes(error as string | null), `${at}: ${error}`)
    }
  })

  test('reads handmade pages like those of the library', async () => {
    const pages = [pageOf({ body: numbers(1, 2), values: 2 }), pageOf({ body: numbers(3), values: 1 })]
    assert.deepEqual(await rowsOf(madeOf(pages, 3)), [{ a: 1 }, { a: 2 }, { a: 3 }])
  })

  for (const [what, pages, rows, type] of [
    ['a page of more values than there are rows', [pageOf({ body: numbers(1), values: 2 })], 1, 'bad_file'],
    ['rows without values', [pageOf({ body: numbers(1), values: 1 })], 2, 'bad_file'],
    ['no page at all', [], 1, 'bad_file'],
    ['billions of them', [pageOf({ body: run(2e9), values: 2e9, encoding: 8 })], 2e9, 'too_large'],
    ['more than fit, in a page alone', [pageOf({ body: run(2e9), values: 2e9, encoding: 8 })], 1, 'too_large'],
    ['an endless dictionary', [pageOf({ body: numbers(1), values: 2e9, type: 2 })], 1, 'too_large'],
    ['a page that says it is huge', [pageOf({ body: numbers(1), values: 1, size: 2e9 })], 1, 'too_large'],
    ['a page of less than nothing', [pageOf({ body: numbers(1), values: 1, packed: -1 })], 1, 'bad_file'],
    ['a negative number of values', [pageOf({ body: numbers(1), values: -1 })], 1, 'bad_file'],
    ['a page that goes on beyond its end', [pageOf({ body: numbers(1), values: 1, packed: 1e6 })], 1, 'bad_file'],
    ['an unknown encoding', [pageOf({ body: numbers(1), values: 1, encoding: 77 })], 1, 'bad_file'],
  ] as const)
    test(`refuses ${what}`, async () => {
      await assert.rejects(read(madeOf([...pages], rows)), failsAs(type, /damaged|Read fewer rows/))
    })

  test('reads many values in a few bytes, if they fit into the limits', async () => {
    const rows = await rowsOf(madeOf([pageOf({ body: run(20_000), values: 20_000, encoding: 3 })], 20_000))
    assert.deepEqual(rows, Array(20_000).fill({ a: 0 }))
  })

  test('refuses pages that grow beyond their declared size', async () => {
    const zeros = Buffer.alloc(50_000_000)
    for (const [codec, body] of [
      ['GZIP', gzipSync(zeros)],
      ['ZSTD', zstdCompressSync(zeros)],
      ['BROTLI', brotliCompressSync(zeros)],
      ['SNAPPY', snappyCompress(zeros)],
      ['LZ4_RAW', Uint8Array.of(0x1f, 0, 1, 0, ...Array(2_000).fill(255), 0)],
    ] as const) {
      const bomb = madeOf([pageOf({ body: Buffer.from(body), values: 1, size: 3 })], 1, () => {}, codec)
      await assert.rejects(read(bomb), failsAs('bad_file', /damaged/), codec)
    }
    assert.deepEqual(await rowsOf(fileOf([{ name: 'a', data: [1] }])), [{ a: 1 }])
  })

  test('refuses descriptions that make no table', async () => {
    const pages = [pageOf({ body: numbers(1), values: 1 })]
    const column = (metadata: FileMetaData) => metadata.row_groups[0]!.columns[0]!.meta_data!
    for (const [what, change, type] of [
      ['far away', (all: FileMetaData) => Object.assign(column(all), { data_page_offset: 2n ** 40n }), 'bad_file'],
      ['before the file', (all) => Object.assign(column(all), { data_page_offset: -9n }), 'bad_file'],
      ['endless', (all) => Object.assign(column(all), { total_compressed_size: 2n ** 40n }), 'bad_file'],
      ['of another type', (all) => Object.assign(column(all), { type: 'INT64' }), 'bad_file'],
      ['of another name', (all) => Object.assign(column(all), { path_in_schema: ['b'] }), 'bad_file'],
      ['of fewer rows than none', (all) => Object.assign(all.row_groups[0]!, { num_rows: -5n }), 'bad_file'],
      ['too wide', (all) => all.schema.push(...Array(7_000).fill(all.schema[1])), 'too_large'],
      ['too deep', (all) => all.schema.splice(0, 2, ...nested(40)), 'too_large'],
    ] as [string, (metadata: FileMetaData) => void, string][])
      await assert.rejects(read(madeOf(pages, 1, change)), failsAs(type, /./), what)
    // The number of columns in the file, which is one.
    const whole = madeOf(pages, 1)
    for (const count of [0, 2, 1_000_000_000, -1]) {
      const [before, behind] = whole.toString('latin1').split('root\x15\x02')
      const many = Buffer.concat([Buffer.from('root\x15'), Buffer.from(zigzag(count))]).toString('latin1')
      const footer = Buffer.from(`${before}${many}${behind}`, 'latin1')
      footer.writeUInt32LE(footer.readUInt32LE(footer.length - 8) + footer.length - whole.length, footer.length - 8)
      await assert.rejects(read(footer), failsAs('bad_file', /damaged/), String(count))
    }
  })

  test('refuses a long text that many cells share, before it is written out for each', async () => {
    const file = fileOf([{ name: 'a', data: Array(1_000).fill('x'.repeat(100_000)) }])
    assert.ok(file.length < 100_000)
    await assert.rejects(read(file), failsAs('too_large', /too large together/))
    assert.equal(((await rowsOf(file, { max_rows: 3 })) as unknown[]).length, 3)
  })
})

describe('data.WriteParquet', () => {
  test('chooses column types that hold the values exactly', async () => {
    const rows = [
      { b: true, i: 1, f: 1, s: 'é', none: null, l: [1, null], o: { a: 'x', b: [{ c: 1.5 }] }, m: [1, 'x'] },
      { b: null, i: -(2 ** 53 - 1), f: 0.5, s: '', none: null, l: [], o: null, m: { y: {} } },
    ]
    const file = await write(rows)
    assert.equal(file.content_type, 'application/vnd.apache.parquet')
    assert.deepEqual(await rowsOf(file), rows)
    const kinds = parquetMetadata(Buffer.from(file.data)).schema.map(({ name, type, converted_type }) =>
      [name, type, converted_type].filter(Boolean).join(' '),
    )
    assert.deepEqual(kinds, [
      ...['schema', 'b BOOLEAN', 'i INT64', 'f DOUBLE', 's BYTE_ARRAY UTF8', 'none BYTE_ARRAY UTF8'],
      ...['l LIST', 'list', 'element INT64', 'o', 'a BYTE_ARRAY UTF8', 'b LIST', 'list', 'element', 'c DOUBLE'],
      'm BYTE_ARRAY JSON',
    ])
  })

  test('writes the given types', async () => {
    const rows = [
      { d: '2024-02-29', t: '2024-02-29T23:59:59.000001+02:00', m: '12.3', i: '9007199254740993', s: 7, j: 'x', f: 2 },
      { d: '0001-01-01', t: null, m: -0.05, i: 5, s: true, j: { a: null }, f: null },
    ]
    const types = { d: 'date', t: 'timestamp', m: 'decimal(2)', i: 'int', s: 'str', j: 'json', f: 'float' }
    assert.deepEqual(await again(rows, { types }), [
      { d: '2024-02-29', t: '2024-02-29T21:59:59.000001Z', m: '12.30', i: '9007199254740993', s: '7', j: 'x', f: 2 },
      { d: '0001-01-01', t: null, m: '-0.05', i: 5, s: 'true', j: { a: null }, f: null },
    ])
  })

  test('gives the same bytes for the same rows, with the given compression', async () => {
    const rows = Array.from({ length: 1_000 }, (_, at) => ({ a: at % 7, b: `row ${at}` }))
    const sizes: number[] = []
    for (const compression of ['snappy', 'zstd', 'none']) {
      const [one, two] = [await write(rows, { compression }), await write(rows, { compression })]
      assert.deepEqual(Buffer.from(one.data), Buffer.from(two.data))
      assert.deepEqual(await rowsOf(one), rows)
      sizes.push(one.data.length)
    }
    assert.ok(sizes[1]! < sizes[0]! && sizes[0]! < sizes[2]!, sizes.join())
  })

  test('takes columns in their order, and tables without rows', async () => {
    assert.deepEqual(await read(await write([{ a: 1, b: 2 }], { columns: ['b', 'c'] })), {
      rows: [{ b: 2, c: null }],
      columns: ['b', 'c'],
      row_count: 1,
    })
    const empty = await read(await write([], { columns: ['a'] }))
    assert.deepEqual(empty, { rows: [], columns: ['a'], row_count: 0 })
  })

  test('reports values that do not fit their type', async () => {
    for (const [value, type, message] of [
      ['x', 'int', /"a" holds "x", which is no whole number/],
      ['9223372036854775808', 'int', /no whole number/],
      [0.5, 'int', /no whole number/],
      ['1', 'float', /no number/],
      ['2023-02-29', 'date', /no date/],
      ['2024-01-01T00:00:00', 'timestamp', /with its offset/],
      ['2024-01-01T25:00:00Z', 'timestamp', /no time/],
      ['1.234', 'decimal(2)', /decimal number of 2 places/],
      ['1e5', 'decimal(2)', /decimal number/],
      [[1], 'str', /no text/],
      [1, 'bool', /true or false/],
      [1, 'decimal(99)', /unknown type/],
      [1, 'number', /unknown type/],
    ] as const)
      await assert.rejects(write([{ a: value }], { types: { a: type } }), failsAs('bad_input', message))
    await assert.rejects(write([{ a: 1 }, { a: 'x' }]), failsAs('bad_input', /several types \(int, str\)/))
    await assert.rejects(write([]), failsAs('bad_input', /no columns/))
    await assert.rejects(write([7]), failsAs('bad_input', /Row 1 is int/))
    const wide = Object.fromEntries(Array.from({ length: 2_001 }, (_, at) => [`c${at}`, at]))
    await assert.rejects(write([wide]), failsAs('too_large', /cells|columns/))
    assert.deepEqual(await again([{ a: 1 }]), [{ a: 1 }])
  })
})

/** A run of one value: a few bytes give any count, and the byte before them gives the width. */
function run(count: number): Buffer {
  return Buffer.from([1, ...varint(count * 2), 0])
}

/** Nested structs. */
function nested(depth: number): SchemaElement[] {
  const branch = Array.from({ length: depth }, (_, at) => ({ name: `s${at}`, num_children: 1 }))
  return [...branch, { name: 'a', type: 'INT32', repetition_type: 'REQUIRED' }] as SchemaElement[]
}

/** LZ4 with literals only. */
function literally(bytes: Uint8Array): Uint8Array {
  const { length } = bytes
  if (length < 15) return Buffer.concat([Uint8Array.of(length << 4), bytes])
  const more = length - 15
  return Buffer.concat([Uint8Array.of(0xf0, ...Array(Math.floor(more / 255)).fill(255), more % 255), bytes])
}
