// archive.*: packing and unpacking, and refusal of hostile archives.
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { crc32, deflateRawSync } from 'node:zlib'
import { failsAs } from './fails-as.ts'
import { mediaNodes } from './with-media.ts'

const nodes = mediaNodes()
after(() => nodes[Symbol.asyncDispose]())

interface File {
  type: string
  data: Uint8Array
  content_type: string
  name: string
}

const zip = async (inputs: Record<string, unknown>) => (await nodes.fire('archive.Zip', inputs)).archive as File
const unzip = async (archive: unknown, names: string[] | null = null) => {
  const { files } = await nodes.fire('archive.Unzip', { archive, names })
  return (files as File[]).map(({ name, data }) => [name, Buffer.from(data).toString()])
}
const list = async (archive: unknown) => (await nodes.fire('archive.List', { archive })).entries

/** One entry of a handmade archive; each part may be false. */
interface Part {
  name: string | Buffer
  data?: Buffer
  method?: number
  size?: number
  crc?: number
  flags?: number
  /** The name in the local header, if it differs. */
  local?: string
  /** The offset that the entry claims. */
  at?: number
  attributes?: number
  extra?: Buffer
}

function localOf({ name, data = Buffer.alloc(0), method = 0, size = data.length, crc = 0, flags = 0, local }: Part) {
  const named = Buffer.from(local ?? name)
  const header = Buffer.alloc(30)
  header.writeUInt32LE(0x04034b50, 0)
  header.writeUInt16LE(flags, 6)
  header.writeUInt16LE(method, 8)
  header.writeUInt32LE(crc, 14)
  header.writeUInt32LE(data.length, 18)
  header.writeUInt32LE(size, 22)
  header.writeUInt16LE(named.length, 26)
  return Buffer.concat([header, named, data])
}

function centralOf(part: Part, at: number) {
  const { name, data = Buffer.alloc(0), method = 0, size = data.length, crc = 0, flags = 0, attributes = 0 } = part
  const extra = part.extra ?? Buffer.alloc(0)
  const named = Buffer.from(name)
  const header = Buffer.alloc(46)
  header.writeUInt32LE(0x02014b50, 0)
  header.writeUInt16LE(3 << 8, 4)
  header.writeUInt16LE(flags, 8)
  header.writeUInt16LE(method, 10)
  header.writeUInt32LE(crc, 16)
  header.writeUInt32LE(data.length, 20)
  header.writeUInt32LE(size, 24)
  header.writeUInt16LE(named.length, 28)
  header.writeUInt16LE(extra.length, 30)
  header.writeUInt32LE(attributes * 2 ** 16, 38)
  header.writeUInt32LE(part.at ?? at, 42)
  return Buffer.concat([header, named, extra])
}

function endOf(count: number, size: number, at: number): Buffer {
  const end = Buffer.alloc(22)
  end.writeUInt32LE(0x06054b50, 0)
  end.writeUInt16LE(count, 8)
  end.writeUInt16LE(count, 10)
  end.writeUInt32LE(size, 12)
  end.writeUInt32LE(at, 16)
  return end
}

function archiveOf(parts: Part[], count = parts.length): Buffer {
  const locals = parts.map(localOf)
  let at = 0
  const directory = Buffer.concat(
    parts.map((part, index) => {
      const header = centralOf(part, at)
      at += locals[index]!.length
      return header
    }),
  )
  return Buffer.concat([...locals, directory, endOf(count, directory.length, at)])
}

const part = (name: string | Buffer, text = 'x', more: Partial<Part> = {}): Part => {
  const data = Buffer.from(text)
  return { name, data, crc: crc32(data), ...more }
}
const packed = (name: string, content: Buffer, more: Partial<Part> = {}): Part => ({
  name,
  data: deflateRawSync(content),
  method: 8,
  size: content.length,
  crc: crc32(content),
  ...more,
})

describe('archive.Zip', () => {
  test('packs files under their names, the same ones into the same bytes', async () => {
    const files = [Buffer.from('hello'), { data: Buffer.from('a,b\n'), name: 'table.csv' }]
    const archive = await zip({ files, name: 'all.tar' })
    assert.deepEqual([archive.type, archive.content_type, archive.name], ['document', 'application/zip', 'all.zip'])
    assert.deepEqual(await unzip(archive), [
      ['file1', 'hello'],
      ['table.csv', 'a,b\n'],
    ])
    assert.deepEqual(Buffer.from((await zip({ files })).data), Buffer.from(archive.data))
    // The first day of the ZIP calendar, in every zone.
    assert.equal(Buffer.from(archive.data).readUInt32LE(10), 0x00210000)
    assert.deepEqual(await list(archive), [
      { name: 'file1', kind: 'file', encrypted: false, size: 5, compressed_size: 7 },
      { name: 'table.csv', kind: 'file', encrypted: false, size: 4, compressed_size: 6 },
    ])
  })

  test('packs with the given level, under the given names', async () => {
    const content = Buffer.alloc(10_000, 'ab')
    for (const [level, size] of [
      [0, 10_000],
      [9, deflateRawSync(content, { level: 9 }).length],
    ] as const) {
      const archive = await zip({ files: [content], names: ['ü/😀.txt'], level })
      assert.deepEqual(await list(archive), [
        { name: 'ü/😀.txt', kind: 'file', encrypted: false, size: 10_000, compressed_size: size },
      ])
      assert.deepEqual(await unzip(archive), [['ü/😀.txt', content.toString()]])
    }
    assert.deepEqual(await list(await zip({ files: [] })), [])
  })

  test('refuses names that no archive should have', async () => {
    const files = [Buffer.from('a'), Buffer.from('b')]
    for (const [names, message] of [
      [['a', 'a'], /Two files .* same name: "a"/],
      [['a', '../b'], /leads out/],
      [['/a', 'b'], /absolute path/],
      [['a\\b', 'b'], /backslash/],
      [['a', ''], /no name/],
      [['a'], /2 files and 1 names/],
    ] as const)
      await assert.rejects(zip({ files, names }), failsAs('bad_input', message))
    await assert.rejects(zip({ files: Array(101).fill(files[0]) }), failsAs('too_large', /100 files/))
    await assert.rejects(zip({ files: [7] }), failsAs('bad_input', /File 1 is neither/))
  })
})

describe('archive.Unzip', () => {
  test('unpacks all files, or those that are named, with their types', async () => {
    const archive = archiveOf([
      { name: 'dir/', attributes: 0o040755 },
      part('dir/a.PNG', 'a', { attributes: 0o100644 }),
      packed('b', Buffer.from('bbbb')),
      part('empty.toString', ''),
    ])
    const { files, names } = await nodes.fire('archive.Unzip', { archive })
    assert.deepEqual(names, ['dir/a.PNG', 'b', 'empty.toString'])
    assert.deepEqual(
      (files as File[]).map(({ type, content_type }) => [type, content_type]),
      [
        ['image', 'image/png'],
        ['document', 'application/octet-stream'],
        ['document', 'application/octet-stream'],
      ],
    )
    assert.deepEqual(await unzip(archive, ['b']), [['b', 'bbbb']])
    await assert.rejects(unzip(archive, ['c']), failsAs('bad_input', /no file "c"/))
  })

  for (const [what, name, message] of [
    ['leads out', '../evil', /leads out/],
    ['leads out from within', 'a/../../evil', /leads out/],
    ['is absolute', '/etc/passwd', /absolute path/],
    ['has a drive', 'C:evil', /absolute path/],
    ['has backslashes', '..\\evil', /backslash/],
    ['has a NUL', 'a.txt\0.exe', /control/],
    ['has a line break', 'a\nb', /control/],
    ['is empty', '', /no name/],
    ['has empty parts', 'a//b', /empty parts/],
    ['has dots', './a', /empty parts/],
    ['is endless', 'a'.repeat(1_001), /more than 1000 characters/],
  ] as const)
    test(`refuses a name that ${what}`, async () => {
      const archive = archiveOf([part('fine'), part(name)])
      await assert.rejects(unzip(archive), failsAs('bad_file', message))
      await assert.rejects(list(archive), failsAs('bad_file', message))
    })

  test('refuses names that are not what they seem', async () => {
    await assert.rejects(unzip(archiveOf([part('a'), part('a')])), failsAs('bad_file', /same name/))
    await assert.rejects(unzip(archiveOf([part('a'), part('a/')])), failsAs('bad_file', /content|same name/))
    await assert.rejects(unzip(archiveOf([part('a', 'x', { local: 'b' })])), failsAs('bad_file', /two names/))
    // A second name in Unicode, which some programs prefer.
    const other = Buffer.from('../evil')
    const extra = Buffer.alloc(9)
    extra.writeUInt16LE(0x7075, 0)
    extra.writeUInt16LE(5 + other.length, 2)
    extra.writeUInt8(1, 4)
    extra.writeUInt32LE(crc32('a'), 5)
    const unicode = archiveOf([part('a', 'x', { extra: Buffer.concat([extra, other]) })])
    await assert.rejects(unzip(unicode), failsAs('bad_file', /leads out/))
  })

  test('takes no links, and nothing encrypted or packed in other ways', async () => {
    for (const [more, message] of [
      [{ attributes: 0o120777 }, /link.*Name the other files/],
      [{ attributes: 0o020666 }, /link/],
      [{ flags: 1 }, /encrypted/],
      [{ method: 12 }, /unsupported compression/],
    ] as const) {
      const archive = archiveOf([part('fine', 'ok'), part('odd', '/etc/passwd', more)])
      await assert.rejects(unzip(archive), failsAs('unsupported', message))
      assert.deepEqual(await unzip(archive, ['fine']), [['fine', 'ok']])
    }
    const odd = archiveOf([part('l', 'x', { attributes: 0o120777 }), part('e', 'x', { flags: 1 })])
    assert.deepEqual(await list(odd), [
      { name: 'l', kind: 'other', encrypted: false, size: 1, compressed_size: 1 },
      { name: 'e', kind: 'file', encrypted: true, size: 1, compressed_size: 1 },
    ])
    await assert.rejects(list(archiveOf([part('s', 'x', { flags: 0x41 })])), failsAs('unsupported', /encrypted/))
  })

  test('refuses bombs before they go off', async () => {
    const zeros = packed('zeros', Buffer.alloc(5_000_000))
    assert.ok(zeros.data!.length < 6_000)
    await assert.rejects(unzip(archiveOf([zeros])), failsAs('too_large', /grow more than 200 times/))
    const lying = archiveOf([{ ...zeros, size: 10 }])
    await assert.rejects(unzip(lying), failsAs('bad_file', /stated size/))
    const claim = archiveOf([part('a', 'x', { size: 100_000_001, method: 8 })])
    await assert.rejects(unzip(claim), failsAs('too_large', /100,000,000 bytes/))
    const many = archiveOf(Array.from({ length: 1_001 }, (_, at) => part(`f${at}`, '')))
    await assert.rejects(unzip(many), failsAs('too_large', /1,000 files/))
    assert.equal(((await list(many)) as unknown[]).length, 1_001)
    await assert.rejects(list(archiveOf([part('a')], 10_001)), failsAs('too_large', /10,000 entries/))
  })

  test('refuses excessive claims of a 64-bit directory', async () => {
    const claims = Buffer.alloc(20)
    claims.writeUInt16LE(1, 0)
    claims.writeUInt16LE(16, 2)
    claims.writeBigUInt64LE(2n ** 50n, 4)
    claims.writeBigUInt64LE(1n, 12)
    const huge = archiveOf([part('a', 'x', { extra: claims, size: 0xffffffff, method: 8 })])
    await assert.rejects(unzip(huge), failsAs('too_large', /100,000,000 bytes/))
    const plain = archiveOf([part('a')])
    const wide = Buffer.alloc(56)
    wide.writeUInt32LE(0x06064b50, 0)
    wide.writeBigUInt64LE(44n, 4)
    wide.writeBigUInt64LE(2n ** 52n, 32)
    const locator = Buffer.alloc(20)
    locator.writeUInt32LE(0x07064b50, 0)
    locator.writeBigUInt64LE(BigInt(plain.length - 22), 8)
    const many = Buffer.concat([plain.subarray(0, -22), wide, locator, plain.subarray(-22)])
    await assert.rejects(list(many), failsAs('too_large', /10,000 entries/))
  })

  test('refuses entries that share bytes', async () => {
    // A kernel that each entry unpacks again, and quoted headers, as in overlapping bombs.
    const same = archiveOf([part('a', 'kernel'), part('b', '', { at: 0, local: 'a' })])
    await assert.rejects(unzip(same), failsAs('bad_file', /two names|overlap/))
    const inner = localOf(part('b', 'kernel'))
    const outer = part('a', '', { data: inner, crc: crc32(inner) })
    const quoted = archiveOf([outer, part('b', 'kernel')])
    const at = quoted.readUInt32LE(quoted.length - 6)
    const second = quoted.indexOf('PK\x01\x02', at + 4, 'latin1')
    quoted.writeUInt32LE(31, second + 42)
    await assert.rejects(unzip(quoted), failsAs('bad_file', /overlap/))
    await assert.rejects(list(quoted), failsAs('bad_file', /overlap/))
  })

  test('refuses damage, wherever it is', async () => {
    const whole = archiveOf([packed('a', Buffer.from('hello hello hello')), part('b', 'world')])
    assert.deepEqual(await unzip(whole), [
      ['a', 'hello hello hello'],
      ['b', 'world'],
    ])
    for (let length = 4; length < whole.length; length += 7)
      await assert.rejects(unzip(whole.subarray(0, length)), failsAs('bad_file', /damaged/), String(length))
    for (const at of [35, whole.indexOf('world')]) {
      const spoilt = Buffer.from(whole)
      spoilt[at]! ^= 0x55
      await assert.rejects(unzip(spoilt), failsAs('bad_file', /damaged/), String(at))
    }
    await assert.rejects(
      unzip(archiveOf([part('a', 'x', { crc: 1 })])),
      failsAs('bad_file', /does not match its size or checksum/),
    )
    await assert.rejects(unzip(archiveOf([part('a', 'x', { at: 2 ** 31 })])), failsAs('bad_file', /damaged/))
  })

  test('refuses files that are also of another type, and files that are not ZIP', async () => {
    const archive = archiveOf([part('a')])
    const head = Buffer.from('%PDF-1.7\n')
    await assert.rejects(unzip(Buffer.concat([head, archive])), failsAs('unsupported', /does not begin as one/))
    await assert.rejects(unzip(Buffer.concat([archive, head])), failsAs('bad_file', /damaged/))
    const hidden = Buffer.concat([Buffer.from('PK\x03\x04<html>'), archive])
    await assert.rejects(unzip(hidden), failsAs('bad_file', /damaged/))
    for (const none of ['', 'PK', 'Rar!\x1a\x07']) {
      await assert.rejects(unzip(Buffer.from(none)), failsAs('unsupported', /no ZIP/))
    }
    assert.deepEqual(await unzip(archive), [['a', 'x']])
  })
})
