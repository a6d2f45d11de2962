// Tests the detected content types, and what is derived from them.
import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { detectContentType, fileExtensionFor, mediaKindOf } from '../../src/assets/content-type.ts'

function latin1(text: string): Uint8Array {
  return Buffer.from(text.padEnd(40, '\x07'), 'latin1')
}

/** The first bytes of files, the content type, its kind and its file extension. */
const FILES: readonly (readonly [string, string, string, string])[] = [
  ['\x89PNG\r\n\x1a\n\0\0\0\rIHDR', 'image/png', 'image', 'png'],
  ['\xff\xd8\xff\xe0\0\x10JFIF', 'image/jpeg', 'image', 'jpg'],
  ['GIF87a', 'image/gif', 'image', 'gif'],
  ['GIF89a', 'image/gif', 'image', 'gif'],
  ['RIFF\x24\0\0\0WEBPVP8 ', 'image/webp', 'image', 'webp'],
  ['RIFF\x24\0\0\0WAVEfmt ', 'audio/wav', 'audio', 'wav'],
  ['RIFF\x24\0\0\0AVI LIST', 'video/x-msvideo', 'video', 'avi'],
  ['II*\0\x08\0\0\0', 'image/tiff', 'image', 'tiff'],
  ['MM\0*\0\0\0\x08', 'image/tiff', 'image', 'tiff'],
  ['%PDF-1.7\n', 'application/pdf', 'document', 'pdf'],
  ['\0\0\0\x1cftypavif', 'image/avif', 'image', 'avif'],
  ['\0\0\0\x18ftypheic', 'image/heic', 'image', 'heic'],
  ['\0\0\0\x1cftypM4A ', 'audio/mp4', 'audio', 'm4a'],
  ['\0\0\0\x14ftypqt  ', 'video/quicktime', 'video', 'mov'],
  ['\0\0\0\x20ftypisom', 'video/mp4', 'video', 'mp4'],
  ['\x1aE\xdf\xa3\x9fB\x86\x81\x01', 'video/webm', 'video', 'webm'],
  ['OggS\0\x02', 'audio/ogg', 'audio', 'ogg'],
  ['fLaC\0\0\0\x22', 'audio/flac', 'audio', 'flac'],
  ['ID3\x04\0\0', 'audio/mpeg', 'audio', 'mp3'],
  ['\xff\xfb\x90\x64', 'audio/mpeg', 'audio', 'mp3'],
  ['PK\x03\x04\x14\0', 'application/zip', 'file', 'zip'],
  ['\x1f\x8b\x08\0', 'application/gzip', 'file', 'gz'],
  ['PAR1\x15\x04', 'application/vnd.apache.parquet', 'dataframe', 'parquet'],
  ['SQLite format 3\0', 'application/vnd.sqlite3', 'file', 'sqlite'],
  ['glTF\x02\0\0\0', 'model/gltf-binary', 'model', 'glb'],
  ['GGUF\x03\0\0\0', 'model/vnd.gguf', 'model', 'gguf'],
]

describe('the content type of bytes', () => {
  test('is detected from the first bytes, whatever is claimed', () => {
    for (const [first, type, kind, extension] of FILES) {
      for (const claim of [null, 'text/html', 'no type', type])
        assert.equal(detectContentType(latin1(first), claim), type)
      assert.equal(mediaKindOf(type), kind, type)
      assert.equal(fileExtensionFor(type, 'x.exe'), extension, type)
    }
  })

  test('is the claimed one if the bytes have no signature', () => {
    const bytes = latin1('\x01\x02\x03')
    assert.equal(detectContentType(bytes, 'application/x-thing'), 'application/x-thing')
    assert.equal(detectContentType(bytes, 'text/csv; charset="utf-8"'), 'text/csv; charset="utf-8"')
    assert.equal(detectContentType(bytes, null), 'application/octet-stream')
    for (const claim of ['', 'text', 'text/', 'a b/c', 'text/html\r\nX: y', 'text/plain; x=\n', 'x'.repeat(300)])
      assert.equal(detectContentType(bytes, claim), 'application/octet-stream', claim)
  })

  test('is the claimed one if the bytes are a container of it', () => {
    const office = 'application/vnd.openxmlformats-officedocument.wordprocessingml.document'
    assert.equal(detectContentType(latin1('PK\x03\x04'), office), office)
    assert.equal(detectContentType(latin1('\0\0\0\x20ftypisom'), 'audio/mp4'), 'audio/mp4')
    assert.equal(detectContentType(latin1('OggS'), 'video/ogg'), 'video/ogg')
    assert.equal(detectContentType(latin1('PK\x03\x04'), 'image/png'), 'application/zip')
  })

  test('is not a claimed one that the bytes contradict', () => {
    for (const claim of ['image/png', 'image/jpeg', 'image/gif', 'IMAGE/WebP; q=1']) {
      assert.equal(detectContentType(latin1('\x01\x02'), claim), 'application/octet-stream')
      assert.equal(detectContentType(Buffer.from('<script>'), claim), 'text/plain; charset=utf-8')
    }
  })

  test('is that of the file extension if the bytes fit it and no type is claimed', () => {
    const table = Buffer.from('a,b\n1,2\n')
    for (const claim of [null, 'application/octet-stream', 'no type'])
      assert.equal(detectContentType(table, claim, 'x.CSV'), 'text/csv; charset=utf-8')
    assert.equal(detectContentType(table, 'text/plain', 'x.csv'), 'text/plain')
    for (const name of [null, '', 'csv.txt', 'x.', 'x.constructor', '__proto__', 'x.png'])
      assert.equal(detectContentType(table, null, name), 'text/plain; charset=utf-8', String(name))
    assert.equal(detectContentType(table, 'image/png', 'x.html'), 'text/plain; charset=utf-8')
    assert.equal(detectContentType(latin1('\x01\x02'), null, 'x.csv'), 'application/octet-stream')
    assert.equal(detectContentType(Buffer.from(''), null, 'x.csv'), 'application/octet-stream')
    assert.equal(detectContentType(latin1('GIF89a'), null, 'x.html'), 'image/gif')
    assert.equal(mediaKindOf(detectContentType(latin1('PK\x03\x04'), null, 'x.docx')), 'document')
    assert.equal(detectContentType(latin1('PK\x03\x04'), 'text/html', 'x.docx'), 'application/zip')
    assert.equal(detectContentType(latin1('PK\x03\x04'), null, 'x.csv'), 'application/zip')
  })

  test('is text if the bytes are UTF-8, cut off or not', () => {
    for (const text of ['Hello', 'ä€😀\n\t', `${'x'.repeat(4_095)}ä`])
      assert.equal(detectContentType(Buffer.from(text), null), 'text/plain; charset=utf-8')
    for (const text of ['', 'a\0b', 'a\x1bb'])
      assert.equal(detectContentType(Buffer.from(text), null), 'application/octet-stream')
    assert.equal(detectContentType(Buffer.from([0x61, 0xff, 0x62]), null), 'application/octet-stream')
    // Half a character is no text, unless more bytes follow.
    for (const text of ['caf\xe9', `${'x'.repeat(4_095)}\xc3`])
      assert.equal(detectContentType(Buffer.from(text, 'latin1'), null), 'application/octet-stream')
    assert.equal(
      detectContentType(Buffer.from(`${'x'.repeat(4_095)}\xc3\xa4`, 'latin1'), null),
      'text/plain; charset=utf-8',
    )
  })
})

test('the kinds of types without a signature', () => {
  const kinds = { 'text/csv': 'dataframe', 'text/markdown; charset=utf-8': 'document', 'TEXT/HTML': 'document' }
  for (const [type, kind] of Object.entries(kinds)) assert.equal(mediaKindOf(type), kind)
  for (const type of ['application/octet-stream', 'application/json', 'text/x-thing'])
    assert.equal(mediaKindOf(type), 'file')
})

test('the extension comes from the name if the type has none', () => {
  assert.equal(fileExtensionFor('application/octet-stream', 'weights.SafeTensor'), 'safetensor')
  for (const name of [null, 'README', 'x.', 'x.a/b', 'x.tar~gz'])
    assert.equal(fileExtensionFor('a/b', name), 'bin', String(name))
})
